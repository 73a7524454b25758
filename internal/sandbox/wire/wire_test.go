package wire

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

func TestFramesComeAsTheyWereSent(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b)
	sent := []Frame{
		{Stdout, 1, []byte("text")},
		{Gone, 1<<32 - 1, nil},
		{Start, 2, bytes.Repeat([]byte("x"), MaxBody)},
		{Stderr, 0, []byte{0}},
	}
	if err := w.SendAll(sent[:2]...); err != nil {
		t.Fatal(err)
	}
	for _, f := range sent[2:] {
		if err := w.Send(f.Kind, f.ID, f.Body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.SendJSON(Hello, 0, HelloBody{Version: 3}); err != nil {
		t.Fatal(err)
	}
	r := NewReader(iotest.HalfReader(&b), MaxBody)
	for _, want := range sent {
		got, err := r.Next()
		if err != nil || got.Kind != want.Kind || got.ID != want.ID || !bytes.Equal(got.Body, want.Body) {
			t.Fatalf("%v: kind %d, id %d, %d bytes", err, got.Kind, got.ID, len(got.Body))
		}
	}
	got, err := r.Next()
	var body HelloBody
	if err != nil || got.Decode(&body) != nil || body.Version != 3 {
		t.Errorf("%v, %+v", err, body)
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func TestFramesThatAreTooLong(t *testing.T) {
	if err := NewWriter(io.Discard).Send(Stdout, 1, make([]byte, MaxBody+1)); !errors.Is(err, ErrTooLong) {
		t.Errorf("sending: %v", err)
	}
	for most, size := range map[int]byte{10: 11, 2 * MaxBody: 255} {
		r := NewReader(bytes.NewReader([]byte{1, 0, 0, 0, 1, size, 0, 0, 0}), most)
		if _, err := r.Next(); !errors.Is(err, ErrTooLong) {
			t.Errorf("reading: %v", err)
		}
	}
}

func TestConversationBreaksOff(t *testing.T) {
	whole := []byte{1, 0, 0, 0, 1, 0, 0, 0, 3, 'a', 'b', 'c'}
	for n := range whole {
		want := io.ErrUnexpectedEOF
		if n == 0 {
			want = io.EOF
		}
		if _, err := NewReader(bytes.NewReader(whole[:n]), MaxBody).Next(); err != want {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
}

func TestWhatIsNotJSON(t *testing.T) {
	var body ExitBody
	if err := (Frame{Kind: Exited, Body: []byte(`{"Code":"no"}`)}).Decode(&body); err == nil {
		t.Error("it was taken")
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 1, 0, 0, 0, 3, 'a', 'b', 'c'})
	f.Add([]byte{64, 0, 0, 0, 0, 0, 0, 0, 0, 69})
	f.Add([]byte{1, 2, 3, 4, 5, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, text []byte) {
		const most = 1 << 10
		r, total := NewReader(bytes.NewReader(text), most), 0
		for {
			frame, err := r.Next()
			if err != nil {
				break
			}
			if len(frame.Body) > most {
				t.Fatalf("a body of %d bytes", len(frame.Body))
			}
			total += header + len(frame.Body)
		}
		if total > len(text) {
			t.Errorf("%d bytes were made of %d", total, len(text))
		}
	})
}
