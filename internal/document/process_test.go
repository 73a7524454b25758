package document

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAFaultOfAReaderIsNotADamagedFile has a reader that panics.
func TestAFaultOfAReaderIsNotADamagedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	panics := func(context.Context, Source) (*Document, error) { panic("index out of range") }
	all := Formats{{Format: Text, Read: panics}}
	r := carryOut(t.Context(), order{Source: Source{Name: "a.txt", Size: 4, Limits: DefaultLimits()}}, file, all)
	if r.Kind != ErrFailed || strings.Contains(r.Error, "damaged") {
		t.Errorf("%q, %q", r.Kind, r.Error)
	}
}
