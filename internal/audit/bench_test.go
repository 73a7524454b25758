package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"
)

func typical() Record {
	return Record{
		Phase: Done, Call: "c_01j9zq7w3kxv", Tool: "read_file", Agent: "coder", User: "somebody", Session: "s_8f3a2b1c9d",
		Transport: "stdio", Profile: "coding", Risk: "reads", Verdict: "allow", Outcome: "ok",
		ArgsDigest: "0123456789abcdef0123456789abcdef", ResultDigest: "fedcba9876543210fedcba9876543210",
		Bytes: 2048, Duration: 1.234,
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, mode := range []SyncMode{SyncBatched, SyncFull} {
		for _, callers := range []int{1, 32, 200} {
			b.Run(fmt.Sprintf("sync=%s/callers=%d", mode, callers), func(b *testing.B) {
				l, err := Open(b.TempDir(), Options{Sync: mode})
				if err != nil {
					b.Fatal(err)
				}
				benchmarkAppend(b, l, callers)
				if err := l.Close(); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

// benchmarkAppend also says how many records a write had.
func benchmarkAppend(b *testing.B, l *Log, callers int) {
	var writes atomic.Int64
	l.w.create = func(path string) (file, error) {
		f, err := createSegment(path)
		return counted{f, &writes}, err
	}
	r := typical()
	var left atomic.Int64
	left.Store(int64(b.N))
	done := make(chan error, callers)
	b.ReportAllocs()
	b.ResetTimer()
	for range callers {
		go func() {
			for left.Add(-1) >= 0 {
				if err := l.Append(context.Background(), r); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range callers {
		if err := <-done; err != nil {
			b.Error(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/float64(max(1, writes.Load())), "records/write")
}

type counted struct {
	file
	writes *atomic.Int64
}

func (c counted) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.file.Write(p)
}

func BenchmarkEncode(b *testing.B) {
	r, buf := typical(), []byte(nil)
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buf = appendFields(buf[:0], &r)
		}
	})
	b.Run("standard", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(&r); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	dir := b.TempDir()
	l, err := Open(dir, Options{SegmentBytes: 4 << 20})
	if err != nil {
		b.Fatal(err)
	}
	for range 20_000 {
		if err := l.Append(b.Context(), typical()); err != nil {
			b.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	bytes := verify(b, dir).Bytes
	b.Run("verify", func(b *testing.B) {
		b.SetBytes(bytes)
		for b.Loop() {
			verify(b, dir)
		}
	})
	b.Run("tail", func(b *testing.B) {
		for b.Loop() {
			if _, err := Tail(b.Context(), dir, 20, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("export", func(b *testing.B) {
		b.SetBytes(bytes)
		for b.Loop() {
			if _, err := Export(b.Context(), dir, io.Discard, JSONL, time.Time{}, time.Time{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
