/**
 * The WebSocket to the server, kept up: a connection that breaks or falls silent is opened again, at first soon
 * and then every ten seconds.
 */

import { decode, type Frame } from "./frame";
import type { Hello, Look, Message, Status } from "./protocol";

export type Phase = "connecting" | "connected" | "reconnecting";

export interface Listener {
  onHello(hello: Hello): void;
  /** An update is complete; it is acknowledged when this returns. `frames` has those that have changed, by the places of their looks. */
  onUpdate(status: Status, frames: Map<number, Frame>): void;
  /** The server does not take what was asked for; null when something else is asked for. */
  onRefused(message: string | null): void;
  onPhase(): void;
}

const firstDelay = 500;
const longestDelay = 10_000;
/** A server that is silent for this long is taken for gone. */
const silence = 15_000;

export class Connection {
  phase: Phase = "connecting";
  /** When the newest message came, by `performance.now()`; null before the first. */
  heardAt: number | null = null;
  /** When the next attempt is due, by `performance.now()`. */
  retryAt = 0;
  attempts = 0;
  private socket: WebSocket | null = null;
  /** The status whose frames are still to come, how many they are, and those that have come. */
  private pending: { status: Status; missing: number; frames: Map<number, Frame> } | null = null;
  /** Frames are inflated while the page does other work: what comes after them waits for it. */
  private heard: Promise<void> = Promise.resolve();
  private looks = "";
  /** The looks that were asked for last have this number; updates say of which they are. */
  asked = 0;

  constructor(private readonly listener: Listener) {
    this.open();
    setInterval(() => this.watch(), 1000);
    // Coming back to the page or to the network is a good moment to try again.
    addEventListener("online", () => this.retryNow());
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.retryNow();
    });
  }

  private open(): void {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/api/live`);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    this.pending = null;
    this.heardAt = performance.now();
    socket.onmessage = (event) => {
      if (socket !== this.socket) return;
      this.heardAt = performance.now();
      this.heard = this.heard.then(() => this.hear(socket, event.data)).catch((error: unknown) => console.error(error));
    };
    socket.onclose = () => {
      if (socket === this.socket) this.lose();
    };
  }

  /** Asks for these looks, if they are not those that were asked for last on this connection. */
  ask(looks: Look[]): void {
    const text = JSON.stringify(looks);
    if (text === this.looks || this.phase !== "connected" || this.socket?.readyState !== WebSocket.OPEN) return;
    this.looks = text;
    this.asked += 1;
    this.listener.onRefused(null);
    this.socket.send(JSON.stringify({ type: "looks", number: this.asked, looks }));
  }

  private async hear(socket: WebSocket, data: string | ArrayBuffer): Promise<void> {
    if (socket !== this.socket) return;
    if (typeof data !== "string") {
      const { pending } = this;
      if (!pending) return;
      const place = pending.status.frames[pending.status.frames.length - pending.missing];
      pending.missing -= 1;
      try {
        pending.frames.set(place, await decode(data));
      } finally {
        // Bytes that are no frame do not stop those that come after them.
        if (pending.missing === 0 && pending === this.pending) this.finish(pending.status, pending.frames);
      }
      return;
    }
    const message = JSON.parse(data) as Message;
    if (message.type === "hello") {
      this.attempts = 0;
      this.phase = "connected";
      this.looks = "";
      this.listener.onHello(message);
      this.listener.onPhase();
    } else if (message.type === "refused") {
      this.listener.onRefused(message.message);
    } else if (message.type === "status") {
      if (message.frames.length > 0) this.pending = { status: message, missing: message.frames.length, frames: new Map() };
      else this.finish(message, new Map());
    }
  }

  private finish(status: Status, frames: Map<number, Frame>): void {
    this.pending = null;
    try {
      this.listener.onUpdate(status, frames);
    } finally {
      if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(`ack ${status.number}`);
    }
  }

  private lose(): void {
    this.socket = null;
    this.phase = "reconnecting";
    const delay = Math.min(longestDelay, firstDelay * 2 ** this.attempts) * (0.8 + 0.4 * Math.random());
    this.attempts += 1;
    this.retryAt = performance.now() + delay;
    setTimeout(() => this.retryNow(), delay);
    this.listener.onPhase();
  }

  private retryNow(): void {
    if (this.socket === null) this.open();
  }

  private watch(): void {
    if (this.socket && this.heardAt !== null && performance.now() - this.heardAt > silence) {
      const socket = this.socket;
      this.lose();
      socket.close();
    }
  }
}
