package scrub

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

// goSource is about 2 MB of Go without secrets.
func goSource(tb testing.TB) string {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(needtest.GoRoot(tb), "src/net/http/*.go"))
	if err != nil || len(files) == 0 {
		tb.Skip("the sources of Go are not here")
	}
	var b strings.Builder
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			tb.Skip(err)
		}
		b.Write(raw)
	}
	return new(Scrubber).Text(b.String())
}

// logLines are n lines as servers write them.
func logLines(r *rand.Rand, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b,
			"2026-03-04T05:%02d:%02d.%03dZ INFO http request method=GET path=/api/v1/users/%d status=200 bytes=%d took=%dms "+
				"remote=192.0.2.%d:%d trace=%s agent=\"Mozilla/5.0 (X11; Linux x86_64)\"\n",
			i/60%60, i%60, i%1000, r.IntN(1e6), r.IntN(1e6), r.IntN(1000), r.IntN(256), r.IntN(65536),
			draw(r, hexes, 32))
	}
	return b.String()
}

func benchText(b *testing.B, s *Scrubber, text string) {
	b.Helper()
	if clean := s.Text(text); clean != text {
		b.Fatal("the text holds secrets")
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		s.Text(text)
	}
}

func BenchmarkSource(b *testing.B) { benchText(b, mustNew(b, Options{}), goSource(b)) }

func BenchmarkLogs(b *testing.B) { benchText(b, mustNew(b, Options{}), logLines(dice(20), 8000)) }

func TestNothingAllocates(t *testing.T) {
	s := mustNew(t, Options{})
	for name, text := range map[string]string{
		"source": goSource(t), "logs": logLines(dice(23), 100), "short": "x", "empty": "",
		"names": `token := next(); password: string; "Authorization", "Bearer "+token; postgres://host/db; bearer authentication`,
	} {
		if n := testing.AllocsPerRun(10, func() { s.Text(text) }); n >= 1 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// TestLinear has texts that are nothing but beginnings of secrets. Four times
// as much of it takes four times as long, and by no means sixteen times.
func TestLinear(t *testing.T) {
	s := mustNew(t, Options{})
	for _, piece := range []string{
		"sk-", "sk-a", "token=", "token=$", `token="`, "token='", "password: ", "-----BEGIN ",
		"-----BEGIN RSA PRIVATE KEY-----", "eyJa-", "eyJaaaaaaaaaa.",
		"a://", "a://b:", "Authorization: ", "Authorization: Digest a=", "Cookie: ", "cookie: a=", "ghp_", "SG.",
		"0123456789abcdef", "aaaa.", " -p", "$6$a", "123456:",
		"PuTTY-User-Key-File-", "key ", "<password>", `\"password\":\"`, `\`, "Bearer ", "Basic QUFB",
		"machine login password ", "@tcp(", "_mmk", ".atlasv1.", "%3D", "1Q~a",
	} {
		took := func(n int) time.Duration {
			text := strings.Repeat(piece, n/len(piece))
			start := time.Now()
			s.Text(text)
			return time.Since(start)
		}
		one, four := time.Duration(0), time.Hour
		for range 8 { // the machine has other work as well: one good round is enough
			one, four = took(16<<10), took(64<<10)
			if four < 10*one+time.Millisecond {
				break
			}
		}
		if four >= 10*one+time.Millisecond {
			t.Errorf("%q: %v for 16 KiB, %v for 64 KiB", piece, one, four)
		}
	}
}
