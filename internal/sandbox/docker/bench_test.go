package docker

import (
	"os/exec"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

// BenchmarkTrue compares a command in a warm container with what people do
// otherwise. A container is to be at least five times faster.
func BenchmarkTrue(b *testing.B) {
	p := newPlace(b)
	b.Run("warm", func(b *testing.B) {
		open := p.open(p.spec())
		for b.Loop() {
			_, s := start(b, open, wire.StartBody{Argv: []string{"true"}})
			if got := s.wait(b); got.Code != 0 || got.lost != nil {
				b.Fatalf("%+v", got)
			}
		}
	})
	b.Run("docker-run", func(b *testing.B) {
		docker := needtest.Program(b, "docker")
		for b.Loop() {
			if out, err := exec.Command(docker, "run", "--rm", "--network", "none", testImage,
				"true").CombinedOutput(); err != nil {
				b.Fatalf("%v %s", err, out)
			}
		}
	})
}

// BenchmarkStart is what a session waits for once.
func BenchmarkStart(b *testing.B) {
	p := newPlace(b)
	for b.Loop() {
		if err := p.open(p.spec()).Close(); err != nil {
			b.Fatal(err)
		}
	}
}
