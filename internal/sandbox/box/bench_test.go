package box_test

import (
	"os/exec"
	"testing"
)

func BenchmarkBare(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		c := exec.Command("/bin/true")
		c.Env = []string{path}
		c.Dir = "/"
		if err := c.Run(); err != nil {
			b.Fatal(err)
		}
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
