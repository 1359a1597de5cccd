// Reads values off the charts: a line at the pointer and the figures of that place beside it.
// The charts themselves are static; without this script nothing but the readout is missing.
(function () {
  "use strict";
  var readouts = JSON.parse(document.getElementById("readouts").textContent);
  var SVG = "http://www.w3.org/2000/svg";

  function nearest(sorted, x) {
    var low = 0, high = sorted.length - 1;
    while (high - low > 1) {
      var middle = (low + high) >> 1;
      if (sorted[middle] < x) { low = middle; } else { high = middle; }
    }
    return x - sorted[low] < sorted[high] - x ? low : high;
  }

  function element(name, text, parent) {
    var made = document.createElement(name);
    made.textContent = text;
    parent.appendChild(made);
    return made;
  }

  function fill(box, readout, index) {
    box.textContent = "";
    element("b", readout.at[index], box);
    readout.series.forEach(function (series) {
      var row = element("span", "", box);
      element("i", "", row).style.background = series.colour;
      row.appendChild(document.createTextNode(series.name));
      element("em", series.text[index] + " " + readout.unit, row);
    });
  }

  Array.prototype.forEach.call(document.querySelectorAll(".chart"), function (figure, number) {
    var readout = readouts[number], svg = figure.querySelector("svg");
    if (!readout || readout.px.length === 0) { return; }
    var line = document.createElementNS(SVG, "line");
    line.setAttribute("y1", readout.plot[2]);
    line.setAttribute("y2", readout.plot[3]);
    line.setAttribute("stroke", "#2B333C");
    line.setAttribute("stroke-width", "2");
    line.setAttribute("visibility", "hidden");
    svg.appendChild(line);
    var box = element("div", "", figure);
    box.className = "readout";
    box.hidden = true;

    function hide() {
      box.hidden = true;
      line.setAttribute("visibility", "hidden");
    }

    figure.addEventListener("pointerleave", hide);
    figure.addEventListener("pointermove", function (event) {
      var frame = svg.getBoundingClientRect(), zoom = frame.width / svg.viewBox.baseVal.width;
      var x = (event.clientX - frame.left) / zoom;
      if (x < readout.plot[0] - 20 || x > readout.plot[1] + 20) { hide(); return; }
      var index = nearest(readout.px, x), at = readout.px[index];
      line.setAttribute("x1", at);
      line.setAttribute("x2", at);
      line.setAttribute("visibility", "visible");
      fill(box, readout, index);
      box.hidden = false;
      var left = at * zoom, room = frame.width - left - 14;
      box.style.left = (box.offsetWidth > room ? Math.max(0, left - box.offsetWidth - 12) : left + 12) + "px";
      box.style.top = readout.plot[2] * zoom + 4 + "px";
    });
  });
})();
