"""A film that the reader steps through. Inline HTML and script: no port, no server, no download."""

from __future__ import annotations

import hashlib
import json
from html import escape

from autograder.figures.film import Film
from autograder.figures.states import Html
from autograder.figures.svg import num

# The film is inside the script, so a viewer that removes scripts (a notebook that is not trusted yet)
# shows the sentence in the box and no debris. The script fills every box of its film that is still
# empty: it does not matter where, when and how often the page runs it.
_SCRIPT = """
(function(){var film=FILM;document.querySelectorAll('.KEY:not([data-ready])').forEach(function(root){
root.setAttribute('data-ready','1');root.innerHTML=film.bar+'<img style="max-width:100%">';
var img=root.querySelector('img'),last=film.boxes.length-1,at=0,timer=null,whole=false;
function part(n){return root.querySelector('[data-do="'+n+'"]')}
var play=part('play'),range=part('range'),say=part('say'),all=part('all');
function draw(svg,words){img.src='data:image/svg+xml,'+encodeURIComponent(svg);img.alt=words;
say.textContent=words;all.textContent=whole?'Step through':'Show all'}
function stop(){if(timer){clearInterval(timer);timer=null}play.textContent='Play'}
function show(i){at=Math.max(0,Math.min(last,i));whole=false;range.value=at;var b=film.boxes[at];
draw(film.svg.replace(/ width="[^"]*" height="[^"]*" viewBox="[^"]*"/,
' width="'+b[2]*2+'" height="'+b[3]*2+'" viewBox="'+b.join(' ')+'"'),film.captions[at])}
part('back').onclick=function(){stop();show(at-1)};
part('next').onclick=function(){stop();show(at+1)};
range.oninput=function(){stop();show(+range.value)};
all.onclick=function(){stop();if(whole){show(at)}else{whole=true;draw(film.svg,'All '+(last+1)+' transfers')}};
play.onclick=function(){if(timer){stop();return}show(at===last?0:at+1);play.textContent='Pause';
timer=setInterval(function(){if(at>=last){stop()}else{show(at+1)}},1400)};
show(0)})})();
"""

_BAR = (
    '<div style="display:flex;gap:8px;align-items:center;flex-wrap:wrap;margin:6px 0;'
    'font-family:sans-serif;font-size:13px">'
    '<button type="button" data-do="back">Back</button>'
    '<button type="button" data-do="next">Next</button>'
    '<button type="button" data-do="play">Play</button>'
    '<input type="range" data-do="range" min="0" max="{last}" value="0" aria-label="Transfer">'
    '<button type="button" data-do="all">Show all</button>'
    '<span data-do="say" aria-live="polite"></span></div>'
)


def film_player(film: Film) -> Html:
    """``film`` with buttons: back, next, play, a slider, and all frames at once."""
    captions = [f"Transfer {f.number} of {film.transfers}: {f.caption}" for f in film.frames]
    data = {
        "boxes": [[float(num(v)) for v in box] for box in film.boxes],
        "captions": captions,
        "bar": _BAR.format(last=film.transfers - 1),
        "svg": film.svg,
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    key = "agplayer-" + hashlib.sha256(text.encode()).hexdigest()[:10]
    script = _SCRIPT.strip().replace("KEY", key).replace("FILM", text)
    html = (
        f'<div class="{key}">{escape(film.title)}: {film.transfers} transfers.'
        f" Run this cell to step through them.</div><script>{script}</script>"
    )
    return Html(html, repr(film))
