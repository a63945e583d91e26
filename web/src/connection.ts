/**
 * The WebSocket to the server, kept up: a connection that breaks or falls silent is opened again, at first soon
 * and then every ten seconds.
 */

import { decode, type Picture } from "./frame";
import type { Hello, Message, Status } from "./protocol";

export type Phase = "connecting" | "connected" | "reconnecting";

export interface Listener {
  onHello(hello: Hello): void;
  /** An update is complete; it is acknowledged when this returns. `picture` is null if it has not changed. */
  onUpdate(status: Status, picture: Picture | null): void;
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
  /** The status whose picture is still to come. */
  private pending: Status | null = null;

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
      if (socket === this.socket) this.hear(event.data);
    };
    socket.onclose = () => {
      if (socket === this.socket) this.lose();
    };
  }

  private hear(data: string | ArrayBuffer): void {
    this.heardAt = performance.now();
    if (typeof data !== "string") {
      if (this.pending) this.finish(this.pending, decode(data));
      return;
    }
    const message = JSON.parse(data) as Message;
    if (message.type === "hello") {
      this.attempts = 0;
      this.phase = "connected";
      this.listener.onHello(message);
      this.listener.onPhase();
    } else if (message.frame) {
      this.pending = message;
    } else {
      this.finish(message, null);
    }
  }

  private finish(status: Status, picture: Picture | null): void {
    this.pending = null;
    try {
      this.listener.onUpdate(status, picture);
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
