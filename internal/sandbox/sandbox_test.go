package sandbox

import "testing"

func TestScratch(t *testing.T) {
	const m = 1 << 20
	for _, c := range []struct{ memory, temp, want int64 }{
		{0, 0, 0}, {0, 512 * m, 512 * m}, {512 * m, 512 * m, 384 * m}, {512 * m, 8 * m, 8 * m}, {512 * m, 0, 384 * m},
		{96 * m, 512 * m, 32 * m}, {64 * m, 512 * m, 16 * m}, {16 * m, 512 * m, 4 * m}, {4096 * m, 512 * m, 512 * m},
	} {
		if got := (Limits{Memory: c.memory, Temp: c.temp}).Scratch(); got != c.want {
			t.Errorf("memory %d, temp %d: %d, want %d", c.memory/m, c.temp/m, got/m, c.want/m)
		}
	}
}
