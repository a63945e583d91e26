import { defineConfig } from "vite";

// `npm run dev` serves the page with reloading and takes the data from a live view on its usual port, e.g.
// `cargo run -p evforge-view --example live`.
const server = "http://127.0.0.1:8080";

export default defineConfig({
  build: {
    target: "es2022",
    // The page is served as it is, without a compressed copy.
    reportCompressedSize: false,
    assetsInlineLimit: 0,
    modulePreload: false,
  },
  server: {
    proxy: {
      "/api": { target: server, ws: true, changeOrigin: true, headers: { origin: server } },
      "/monitor": { target: server, changeOrigin: true, headers: { origin: server } },
    },
  },
});
