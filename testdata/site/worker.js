self.onmessage = e => fetch(e.data, {mode: 'no-cors'}).then(() => e.source.postMessage('through'), () => e.source.postMessage('stopped'));
self.onactivate = e => e.waitUntil(clients.claim());
