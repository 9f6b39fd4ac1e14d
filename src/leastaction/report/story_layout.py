"""Style of the story; every rule begins with its class: it can stand anywhere."""

LAYOUT = """
.story { --line: #d9dde3; --dim: #59636e; font: 15px/1.5 system-ui, sans-serif; color:
  #1c2128; max-width: 1060px; margin: 0 auto; padding: 1.2rem 1rem; }
.story h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .6rem; font-weight: 700; }
.story h2 { font-size: 1.3rem; margin: 0 0 .2rem; font-weight: 700; }
.story h3 { font-size: 1rem; margin: 1.1rem 0 .4rem; font-weight: 600; }
.story p { margin: .4rem 0; max-width: 50rem; }
.story .source, .story .dim, .story caption { color: var(--dim); }
.story a { color: #0b5cad; font-weight: inherit; }
.story nav { display: flex; flex-wrap: wrap; gap: .4rem; margin: .9rem 0; }
.story nav a { border: 1px solid var(--line); border-radius: 5px; padding: .25rem .7rem;
  text-decoration: none; }
.story section { border-top: 2px solid var(--line); margin-top: 1.6rem; padding-top:
  1rem; }
.story table { border-collapse: collapse; margin: .4rem 0 .8rem; width: auto; font-size:
  .87rem; line-height: 1.35; }
.story caption { text-align: left; font-size: .87rem; padding-bottom: .2rem; }
.story th, .story td { padding: .25rem .55rem; border-bottom: 1px solid var(--line);
  text-align: left; vertical-align: top; }
.story th { background: #f3f5f8; font-weight: 600; }
.story .number { text-align: right; font-variant-numeric: tabular-nums; white-space:
  nowrap; }
.story .meets, .story .paper-in-error { background: #e9f7ed; }
.story .misses { background: #fde2df; }
.story .figures { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill,
  minmax(min(100%, 440px), 1fr)); }
.story figure { margin: 0; border: 1px solid var(--line); border-radius: 5px; padding:
  .6rem; background: #fff; }
.story figure img { display: block; width: 100%; height: auto; margin: 0; }
.story figcaption { font-size: .87rem; margin-top: .5rem; color: #1c2128; }
.story details { margin: .25rem 0; }
.story summary { cursor: pointer; }
.story pre { background: #f3f5f8; color: #1c2128; padding: .6rem .8rem; overflow-x:
  auto; font-size: .8rem; line-height: 1.35; margin: .3rem 0; border-radius: 4px; }
.story ul { margin: .3rem 0; padding-left: 1.3rem; list-style: disc; }
"""
