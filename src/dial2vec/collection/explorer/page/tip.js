// @ts-check
"use strict";
// The tooltip of the dialogue under the mouse.

const DISTANCE = 16;

class Tip {
  // about(row): [id, [detail, ...]]
  constructor(box, stage, source, about) {
    Object.assign(this, { box, stage, source, about, row: -1 });
  }

  hide() {
    this.row = -1;
    this.box.hidden = true;
  }

  show(row, x, y) {
    this.box.hidden = false;
    if (this.row !== row) this.#describe(row);
    const { offsetWidth: width, offsetHeight: height } = this.box;
    const left = x + DISTANCE + width > this.stage.clientWidth ? x - DISTANCE - width : x + DISTANCE;
    const top = y + DISTANCE + height > this.stage.clientHeight ? y - DISTANCE - height : y + DISTANCE;
    this.box.style.transform = `translate(${Math.max(left, 0)}px, ${Math.max(top, 0)}px)`;
  }

  async #describe(row) {
    this.row = row;
    const [id, details] = this.about(row);
    this.box.replaceChildren(element("p", [id, ...details].join(" · ")));
    const [turn] = await this.source.speaking([row]).catch(() => []);
    if (this.row === row && turn?.length) this.box.prepend(element("p", turn[1]));
  }
}
