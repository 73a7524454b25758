package docker

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

func piece(kind byte, data string) []byte {
	head := make([]byte, 8)
	head[0] = kind
	binary.BigEndian.PutUint32(head[4:], uint32(len(data)))
	return append(head, data...)
}

func reader(data []byte) *link {
	return &link{e: &engine{name: "test"}, from: bufio.NewReader(bytes.NewReader(data)), words: &sandbox.Tail{}}
}

func TestLinkReads(t *testing.T) {
	data := bytes.Join([][]byte{piece(1, "one "), piece(2, "a word"), piece(1, ""), piece(1, "two")}, nil)
	for _, c := range []struct {
		data []byte
		want string
		end  string
	}{
		{data, "one two", "the sandbox ended: a word"},
		{piece(1, "one"), "one", ""},
		{piece(1, "one")[:10], "on", ""},
		{piece(7, "one"), "", "the docker engine at test sent an invalid frame"},
		{[]byte{1, 0, 0, 0, 255, 255, 255, 255, 'x'}, "", "the docker engine at test sent a frame that is too long"},
		{nil, "", ""},
	} {
		got, err := io.ReadAll(reader(c.data))
		if string(got) != c.want || (err == nil) != (c.end == "") || err != nil && err.Error() != c.end {
			t.Errorf("%q: %q %v", c.data, got, err)
		}
	}
}

func FuzzLink(f *testing.F) {
	f.Add(piece(1, "out"))
	f.Add(append(piece(2, "err"), piece(1, "out")...))
	f.Add([]byte{1, 0, 0, 0, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, data []byte) {
		k := reader(data)
		got, _ := io.ReadAll(k)
		if len(got) > len(data) || len(k.words.String()) > 2<<10 {
			t.Errorf("%d bytes became %d", len(data), len(got))
		}
	})
}

func FuzzOwner(f *testing.F) {
	f.Add("a/1/2/b")
	f.Add(thisProcess().String())
	f.Fuzz(func(t *testing.T, label string) {
		o, ok := parseOwner(label)
		if !ok {
			return
		}
		if again, ok := parseOwner(o.String()); !ok || again != o {
			t.Errorf("%q: %v and %v", label, o, again)
		}
		o.state()
	})
}

func FuzzHost(f *testing.F) {
	for _, h := range []string{"unix:///a", "tcp://127.0.0.1:1", "ssh://a@b:1", "npipe:////./pipe/x"} {
		f.Add(h)
	}
	f.Fuzz(func(t *testing.T, host string) {
		w, err := parseHost(host, "")
		if err == nil && (w.name == "" || w.dial == nil && w.pipe == "") {
			t.Errorf("%q: %+v", host, w)
		}
	})
}

func FuzzBind(f *testing.F) {
	f.Add("/a", "/workspace")
	f.Add("/etc/x", "/roots/../etc")
	f.Fuzz(func(t *testing.T, host, inside string) {
		w := sandbox.Spec{Binds: []sandbox.Bind{{Host: host, Inside: inside}}}
		if checkBinds(false, w) != nil {
			return
		}
		if bytes.ContainsRune([]byte(inside), ':') || len(inside) < 7 || forbidden(host) {
			t.Errorf("%q at %q", host, inside)
		}
	})
}
