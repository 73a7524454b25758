package box_test

import (
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox/box"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

func bare(b *testing.B) {
	c := exec.Command("/bin/true")
	c.Env = []string{path}
	c.Dir = "/"
	if err := c.Run(); err != nil {
		b.Fatal(err)
	}
}

func boxed(b *testing.B, x *box.Box) {
	body := wire.StartBody{Argv: []string{"/bin/true"}, Dir: "/", Env: []string{path}, Timeout: time.Minute,
		Limits: wire.Limits{Memory: 512 << 20, Processes: 256, FileSize: 1 << 30, CPUTime: time.Minute}}
	s := newSink()
	if _, err := x.Start(b.Context(), body, s); err != nil {
		b.Fatal(err)
	}
	<-s.gone
}

// BenchmarkTrue runs true in a box that is open, and bare, in turn.
func BenchmarkTrue(b *testing.B) {
	x := open(b)
	var in, out []time.Duration
	for b.Loop() {
		begun := time.Now()
		bare(b)
		half := time.Now()
		boxed(b, x)
		in, out = append(in, time.Since(half)), append(out, half.Sub(begun))
	}
	slices.Sort(in)
	slices.Sort(out)
	boxed, bare := in[len(in)/2], out[len(out)/2]
	b.ReportMetric(float64(boxed.Microseconds()), "µs-boxed")
	b.ReportMetric(float64(bare.Microseconds()), "µs-bare")
	b.ReportMetric(float64(boxed)/float64(bare), "ratio")
}

func BenchmarkBoxed(b *testing.B) {
	x := open(b)
	b.ReportAllocs()
	for b.Loop() {
		boxed(b, x)
	}
}

func BenchmarkRefused(b *testing.B) {
	x := open(b)
	body := sh("")
	body.Argv[0] = "nonesuch"
	b.ReportAllocs()
	for b.Loop() {
		if _, err := x.Start(b.Context(), body, newSink()); err == nil {
			b.Fatal("started")
		}
	}
}
