// Types of the page's scripts for `make types`: what its parts tell each other, and the fields that a class takes over
// with Object.assign. `any` stands for what the server sends and the parts pass on.

/** What the link holds: the whole state of the page. */
interface State {
  panel: "topics" | "map" | "dialogues" | "filters";
  /** Level (0 area, 1 topic, 2 fine topic) and place in `groups[level]`. */
  topic: [number, number] | null;
  query: Query | null;
  /** Names of values by title of a colouring: any of the values of a title, and all titles. */
  filters: Record<string, string[]>;
  /** ISO dates, both included. */
  span: [string, string] | null;
  colour: string | null;
  map: number;
  /** x and y of the centre, and zoom. */
  view: [number, number, number] | null;
  /** Id of a dialogue and number of a turn, -1 for none. */
  open: [string, number] | null;
}

interface Query {
  text: string;
  way: "auto" | "moments" | "themes" | "exact";
  like: string | null;
  unlike: string[];
}

/** What every part is told by `update`. */
interface View {
  state: State;
  hits: Hits | null;
  selected: number[] | null;
  mask: Uint8Array;
  rows: Int32Array;
  passes: (but: string) => Uint8Array;
  narrowed: boolean;
  counts: Int32Array[];
}

interface Hits {
  rows: number[];
  way: Query["way"];
  close: boolean;
  turns: number[][];
}

// Elements of the page are those of HTML.
interface Element {
  dataset: DOMStringMap;
  offsetParent: Element | null;
  tabIndex: number;
  focus(options?: FocusOptions): void;
  click(): void;
}
interface HTMLElement {
  /** Of a form. */
  elements: any;
  /** Of an input. */
  value: string;
}

// Fields that classes take over; a part may also take over content that was loaded again.
interface Brush {
  bins: any; codes: any; on: any; last: number; span: State["span"]; wanted: State["span"]; way: any; filters: State["filters"];
}
interface Changes { box: HTMLElement; on: any; content: any; cards: any[] }
interface Conditions { box: HTMLElement; content: any; on: any; key: string }
interface Curation { content: any; on: any; undoing: any[]; busy: boolean; take?(content: any): void }
interface Explorer { source: any; hits: Hits | null; selected: number[] | null; request: number }
interface RowSelection {
  count: number; dates: string[]; members: any[]; similarity: Uint8Array | null; colourings: any[];
}
interface Filters { box: HTMLElement; on: any; take?(content: any): void }
interface Gestures {
  canvas: HTMLCanvasElement;
  points: Points;
  on: any;
  names: MapNames;
  fingers: Map<number, number[]>;
  outline: number[][] | null;
  lassoing: boolean;
}
interface GroupRow { level: number; group: any; top: boolean; all: number }
interface Histogram {
  way: any;
  on: any;
  values: Map<number, any>;
  whole: boolean;
  filters: State["filters"];
  coloured: boolean;
  chosen: string[];
}
interface Legend { box: HTMLElement; select: HTMLSelectElement; on: any; take?(content: any): void }
interface List { box: HTMLElement; source: any; about: any; on: any; rows: any; items: HTMLElement[]; texts: Map<string, HTMLElement[]>; active: number }
interface MapNames {
  box: HTMLElement;
  points: Points;
  lists: any;
  quotes: any;
  all: any[];
  placed: any[];
  said: Map<any, any>;
  layer: any;
  lines: any;
  selected: State["topic"];
}
interface MapView { source: any; content: any; about: any; on: any; picked: number; group: State["topic"]; map: number }
interface Overview {
  box: HTMLElement;
  on: any;
  content: any;
  rows: any[][];
  chosen: string;
  sort: "share" | "change" | "number";
  rising: boolean;
  column: string;
  /** Areas that somebody has opened or closed, by their ids. */
  opened: Map<number, boolean>;
}
interface Picture {
  sheet: HTMLCanvasElement;
  count: number;
  buffers: any;
  colours: Float32Array;
  page: number[];
  ink: number[];
  view: any;
  every: number;
  costMs: number;
  job: any;
  width: number;
  height: number;
  ratio: number;
  program: WebGLProgram;
  parts: any;
  stores: any;
}
interface Points {
  canvas: HTMLCanvasElement;
  onDraw: () => void;
  count: number;
  progress: number;
  moving: boolean;
  stale: boolean;
  width: number;
  height: number;
}
interface PageSearch { clean: any; turns: any; student: any; vectors: any; choice: any }
interface ReadTurns { starts: any; student: any }
interface Reader {
  box: HTMLElement;
  source: any;
  content: any;
  curation: Curation;
  about: any;
  on: any;
  row: number;
  read: any;
  view: View;
}
interface SearchBox { form: HTMLFormElement; line: HTMLElement; source: any; on: any; query: Query; text: string; take?(content: any): void }
interface Student {
  rows: any;
  vectors: any;
  factors: any;
  scales: any;
  dimension: number;
  normalizer: any;
  pieces: any;
  tokens: string[];
}
interface Tabs { take?(content: any): void }
interface Tip { box: HTMLElement; stage: HTMLElement; source: any; about: any; row: number }
interface Treemap { box: HTMLElement; areas: any[]; cells: any[][] }
