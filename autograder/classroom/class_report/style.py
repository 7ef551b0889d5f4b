"""The page's colours and layout, for light and dark, screen and paper. Contrast of text is 4.5 or more."""

STYLE = """
:root { color-scheme: light dark; --page: #ffffff; --card: #f6f8fa; --text: #1c2128; --soft: #57606a;
  --line: #d0d7de; --bar: #2c6fb7; --partly: #9cc3ea; --track: #e4e9ef; --link: #0b5cad; --warn: #fff4d6;
  --warn-line: #b88700; }
@media (prefers-color-scheme: dark) { :root { --page: #12161c; --card: #1a2027; --text: #e6e9ee; --soft: #a7b0bb;
  --line: #38414c; --bar: #6cabf0; --partly: #37628f; --track: #262e38; --link: #86b9f7; --warn: #33290f;
  --warn-line: #c99a2e; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 64rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .25rem; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; padding-top: .75rem; border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
p { margin: .4rem 0; max-width: 46rem; }
.soft, small, figcaption { color: var(--soft); }
a { color: var(--link); }
nav { margin: .75rem 0 0; display: flex; flex-wrap: wrap; gap: .25rem 1rem; font-size: .9rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem .35rem 0; border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
thead th { color: var(--soft); font-weight: 500; vertical-align: bottom; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
table .n { padding-right: 1rem; }
table .n:last-child { padding-right: .25rem; }
td ul { margin: 0; }
td.bar { width: 30%; min-width: 7rem; }
tbody th { font-weight: 500; width: 28%; }
.mistakes th:nth-child(1) { width: 46%; } .mistakes th:nth-child(3) { width: 17%; }
.mistakes td { padding-bottom: .6rem; } .mistakes td div + div { margin-top: .3rem; }
.track { display: flex; height: .8rem; margin-top: .35rem; background: var(--track); border-radius: 2px;
  overflow: hidden; }
.track i { display: block; height: 100%; background: var(--bar); }
.track i.partly { background: var(--partly); }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(17rem, 1fr)); gap: 1rem; }
figure { margin: 0; padding: .75rem .75rem .5rem; background: var(--card); border: 1px solid var(--line);
  border-radius: 6px; }
figure svg { display: block; width: 100%; height: auto; }
svg text { font: 11px system-ui, sans-serif; fill: var(--soft); }
svg text.count { fill: var(--text); }
svg .column { fill: var(--bar); }
svg .axis { stroke: var(--line); }
.caution { background: var(--warn); border-left: 4px solid var(--warn-line); padding: .5rem .75rem; max-width: 46rem; }
ul { margin: .25rem 0; padding-left: 1.2rem; }
details summary { cursor: pointer; color: var(--link); }
.key i { display: inline-block; width: .8rem; height: .8rem; border-radius: 2px; vertical-align: -1px;
  background: var(--bar); }
.key i.partly { background: var(--partly); }
.key i.none { background: var(--track); border: 1px solid var(--line); }
@media print { main { max-width: none; } h2 { break-after: avoid; } tr, figure { break-inside: avoid; } }
"""
