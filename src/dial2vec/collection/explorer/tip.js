"use strict";
// What is told of the dialogue beneath the mouse.

const ASIDE = 16;

class Tip {
  // about(row) is [id, [detail, ...]]
  constructor(box, stage, source, about) {
    this.box = box;
    this.stage = stage;
    this.source = source;
    this.about = about;
    this.row = -1;
  }

  hide() {
    this.row = -1;
    this.box.hidden = true;
  }

  show(row, x, y) {
    this.box.hidden = false;
    if (this.row !== row) this.#tell(row);
    const { offsetWidth: width, offsetHeight: height } = this.box;
    const left = x + ASIDE + width > this.stage.clientWidth ? x - ASIDE - width : x + ASIDE;
    const top = y + ASIDE + height > this.stage.clientHeight ? y - ASIDE - height : y + ASIDE;
    this.box.style.transform = `translate(${Math.max(left, 0)}px, ${Math.max(top, 0)}px)`;
  }

  async #tell(row) {
    this.row = row;
    const [id, details] = this.about(row);
    this.box.replaceChildren(element("p", [id, ...details].join(" · ")));
    const [turns] = await this.source.openings([row]).catch(() => [[]]);
    if (this.row === row) this.box.append(...turns.map(([who, text]) => element("p", `${who}: ${text}`)));
  }
}
