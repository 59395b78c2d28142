/** The mixer on the audio thread: orders come in as messages, what happened goes back as reports. */
import { createMixer } from "./mixer.js";

// Quanta of 128 samples between two reports while something plays: 32 ms.
const REPORT_EVERY = 12;

class Player extends AudioWorkletProcessor {
  constructor() {
    super();
    this.sinceReport = 0;
    this.ticket = 0; // of the latest order followed
    this.ended = [];
    this.mixer = createMixer({ onEnded: (name) => this.ended.push(name) });
    this.port.onmessage = ({ data: { order, ticket, ...facts } }) => {
      this.mixer[order](facts);
      this.ticket = ticket;
      if (order !== "put" && order !== "drop") this.tell();
    };
  }

  process(_inputs, [[left, right]]) {
    this.mixer.render(left, right);
    this.sinceReport += 1;
    if (this.ended.length || this.sinceReport >= REPORT_EVERY) this.tell();
    return true;
  }

  tell() {
    this.sinceReport = 0;
    this.port.postMessage({ ...this.mixer.report(), ended: this.ended.splice(0), ticket: this.ticket });
  }
}

registerProcessor("concord-player", Player);
