self.onmessage = e => fetch(e.data).then(r => r.text()).then(t => e.source.postMessage(t), () => e.source.postMessage('stopped'));
self.onactivate = e => e.waitUntil(clients.claim());
