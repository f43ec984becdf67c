"""The style of a report's page, and the script that lets its tables be sorted; a page works without the script."""

STYLE = """
:root{color-scheme:light dark;--page:#fff;--ink:#1b2530;--soft:#50606f;--line:#d5dce3;--tint:#f3f6f8;--link:#0a5a91;
--bad:#a32300}
@media (prefers-color-scheme:dark){:root{--page:#12171c;--ink:#e6ebf0;--soft:#a9b6c2;--line:#35414c;--tint:#1b2229;
--link:#7cc0f0;--bad:#ff9d80}img{filter:invert(1) hue-rotate(180deg) brightness(1.1)}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 system-ui,"Segoe UI",Roboto,sans-serif}
header,main,footer{max-width:66rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:1.5rem}footer{padding-bottom:2rem;color:var(--soft);font-size:.9rem}
h1{font-size:1.75rem;line-height:1.2;margin:0 0 .25rem}
h2{font-size:1.3rem;margin:2.2rem 0 .6rem;border-top:1px solid var(--line);padding-top:1.2rem}
h3{font-size:1.08rem;margin:1.8rem 0 .5rem}
h1,h2,h3,p,li,figcaption{overflow-wrap:anywhere}td,th,caption{overflow-wrap:break-word}
p{margin:.5rem 0;max-width:48rem}
a{color:var(--link)}nav ul{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;list-style:none;margin:.75rem 0 0;padding:0}
.skip{position:absolute;left:-99rem}.skip:focus{left:1rem;top:.5rem;
background:var(--page);padding:.4rem .8rem;z-index:2}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.note,figcaption,caption{color:var(--soft)}
.alert{border-left:4px solid var(--bad);padding:.3rem .8rem;color:var(--bad)}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,27rem),1fr));gap:1.5rem;align-items:start}
figure{margin:0;min-width:0}figure:has(.wide){grid-column:1/-1}.wide{overflow-x:auto}
.wide img{width:100%;min-width:40rem;max-height:none}
img{display:block;max-width:100%;max-height:90rem;height:auto;margin:0 auto}figcaption{font-size:.88rem}
.scroll{overflow:auto;max-width:100%;max-height:40rem;margin:.8rem 0 1.4rem}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
caption{text-align:left;padding:.2rem 0 .4rem;position:sticky;left:0}
th,td{text-align:left;vertical-align:top;padding:.28rem .7rem;border-bottom:1px solid var(--line);
min-width:3.5rem;max-width:26rem}
th{font-weight:600}thead th{background:var(--tint);position:sticky;top:0;white-space:nowrap}
.w,.n{white-space:nowrap}.s{min-width:9rem}.n{text-align:right}
.facts td{max-width:46rem}
code{font:.88em ui-monospace,Consolas,monospace}
th button{font:inherit;color:inherit;background:none;border:0;padding:0;cursor:pointer;text-decoration:underline dotted}
[aria-sort=ascending] button::after{content:" \\2191"}[aria-sort=descending] button::after{content:" \\2193"}
@media (min-width:62rem){.short{display:inline-block;vertical-align:top;width:calc(50% - 1rem);margin-right:.9rem}}
@media print{.scroll{max-height:none;overflow:visible}.skip,nav{display:none}figure,tr{break-inside:avoid}
body{font-size:11pt}thead th{position:static}}
@media print and (prefers-color-scheme:dark){:root{--page:#fff;--ink:#000;--soft:#333;--line:#999;--tint:#eee;
--link:#000;--bad:#000}img{filter:none}}
"""

SORT = """
function addSorting(root){
  const read = (row, column) => row.cells[column].textContent;
  for (const table of root.querySelectorAll('table.sortable')) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      if (!head.textContent) return;
      const button = document.createElement('button');
      button.type = 'button';
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener('click', () => {
        const down = head.getAttribute('aria-sort') === 'ascending';
        heads.forEach(other => other.removeAttribute('aria-sort'));
        head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        const body = table.tBodies[0];
        const rows = [...body.rows].map(row => [row, read(row, column), Number(read(row, column))]);
        rows.sort(([, a, x], [, b, y]) => {
          if (isNaN(x) !== isNaN(y)) return isNaN(x) ? 1 : -1;
          return (down ? -1 : 1) * (isNaN(x) ? a.localeCompare(b) : x - y);
        });
        body.append(...rows.map(([row]) => row));
      });
    });
  }
}
addSorting(document);
"""
