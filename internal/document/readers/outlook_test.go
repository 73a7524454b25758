package readers

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/golden"
)

// entry is a storage or a stream of a compound file.
type entry struct {
	name string
	data []byte
	kids []entry
}

// compound returns a compound file. All of its streams are padded to the size from which
// they have sectors of their own.
func compound(root []entry) []byte {
	const sector, small, end, free = 512, 4096, 0xfffffffe, 0xffffffff
	type node struct {
		entry
		child, right, start uint32
		kind                byte
	}
	nodes := []node{{entry: entry{name: "Root Entry", kids: root}, child: free, right: free, start: end, kind: 5}}
	for i := 0; i < len(nodes); i++ {
		last := -1
		for _, kid := range nodes[i].kids {
			n := node{entry: kid, child: free, right: free, kind: 1}
			if kid.kids == nil {
				n.kind = 2
			}
			if nodes = append(nodes, n); last < 0 {
				nodes[i].child = uint32(len(nodes) - 1)
			} else {
				nodes[last].right = uint32(len(nodes) - 1)
			}
			last = len(nodes) - 1
		}
	}
	var content bytes.Buffer
	var fat []uint32
	chain := func(data []byte) uint32 {
		start := len(fat)
		for at := 0; at < len(data); at += sector {
			content.Write(data[at:min(at+sector, len(data))])
			fat = append(fat, uint32(len(fat)+1))
		}
		content.Write(make([]byte, -content.Len()&(sector-1)))
		fat[len(fat)-1] = end
		return uint32(start)
	}
	for i := range nodes {
		if n := &nodes[i]; n.kind == 2 {
			n.start = chain(append(n.data, make([]byte, max(small-len(n.data), 0))...))
		}
	}
	var directory bytes.Buffer
	for _, n := range nodes {
		one := make([]byte, 128)
		units := utf16.Encode([]rune(n.name))
		for j, u := range units {
			binary.LittleEndian.PutUint16(one[2*j:], u)
		}
		binary.LittleEndian.PutUint16(one[64:], uint16(2*len(units)+2))
		one[66], one[67] = n.kind, 1
		binary.LittleEndian.PutUint32(one[68:], free)
		binary.LittleEndian.PutUint32(one[72:], n.right)
		binary.LittleEndian.PutUint32(one[76:], n.child)
		binary.LittleEndian.PutUint32(one[116:], n.start)
		if n.kind == 2 {
			binary.LittleEndian.PutUint64(one[120:], uint64(max(small, len(n.data))))
		}
		directory.Write(one)
	}
	first := chain(directory.Bytes())
	at := len(fat)
	fats := (len(fat)+1)/127 + 1
	for range fats {
		fat = append(fat, 0xfffffffd)
	}
	header := make([]byte, sector)
	copy(header, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
	for _, f := range []struct{ at, value int }{{24, 0x3e}, {26, 3}, {28, 0xfffe}, {30, 9}, {32, 6}} {
		binary.LittleEndian.PutUint16(header[f.at:], uint16(f.value))
	}
	for _, f := range []struct{ at, value uint32 }{
		{44, uint32(fats)}, {48, first}, {56, small}, {60, end}, {68, end},
	} {
		binary.LittleEndian.PutUint32(header[f.at:], f.value)
	}
	for i := range 109 {
		value := uint32(free)
		if i < fats {
			value = uint32(at + i)
		}
		binary.LittleEndian.PutUint32(header[76+4*i:], value)
	}
	table := make([]byte, fats*sector)
	for i := range len(table) / 4 {
		value := uint32(free)
		if i < len(fat) {
			value = fat[i]
		}
		binary.LittleEndian.PutUint32(table[4*i:], value)
	}
	return bytes.Join([][]byte{header, content.Bytes(), table}, nil)
}

func wide(text string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(text)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

// properties returns a stream of properties of fixed size.
func properties(header int, pairs ...uint64) []byte {
	b := make([]byte, header)
	for i := 0; i+1 < len(pairs); i += 2 {
		b = binary.LittleEndian.AppendUint16(b, 3)
		b = binary.LittleEndian.AppendUint16(b, uint16(pairs[i]))
		b = append(b, 0, 0, 0, 0)
		b = binary.LittleEndian.AppendUint64(b, pairs[i+1])
	}
	return b
}

// outlook returns a mail of Outlook with two recipients, a file and a mail within it.
func outlook(t testing.TB) []byte {
	t.Helper()
	return compound([]entry{
		// 134168832000000000 ticks after 1601 are the 2nd of March 2026.
		{name: "__properties_version1.0", data: properties(32, 0x0039, 134168832000000000, 0x3ffd, 1251)},
		{name: "__substg1.0_0037001F", data: wide("A subject")},
		{name: "__substg1.0_0C1A001F", data: wide("Ada")},
		{name: "__substg1.0_5D01001F", data: wide("ada@example.org")},
		{name: "__substg1.0_1000001E", data: []byte("\xcf\xf0\xe8\xe2\xe5\xf2\r\n\r\n\r\n  \r\nthe end")},
		{name: "__recip_version1.0_#00000000", kids: []entry{
			{name: "__properties_version1.0", data: properties(8, 0x0c15, 1)},
			{name: "__substg1.0_3001001F", data: wide("Grace")},
			{name: "__substg1.0_39FE001F", data: wide("grace@example.org")},
		}},
		{name: "__recip_version1.0_#00000001", kids: []entry{
			{name: "__properties_version1.0", data: properties(8, 0x0c15, 2)},
			{name: "__substg1.0_3001001F", data: wide("copy@example.org")},
		}},
		{name: "__attach_version1.0_#00000000", kids: []entry{
			{name: "__substg1.0_3707001F", data: wide("table.csv")},
			{name: "__substg1.0_370E001F", data: wide("text/csv")},
			{name: "__substg1.0_37010102", data: []byte("a,b\n1,2\n" + strings.Repeat("3,4\n", 2000))},
		}},
		{name: "__attach_version1.0_#00000001", kids: []entry{
			{name: "__substg1.0_3001001F", data: wide("forwarded")},
			{name: "__substg1.0_3701000D", kids: []entry{
				{name: "__properties_version1.0", data: properties(24)},
				{name: "__substg1.0_0037001F", data: wide("Inner")},
				{name: "__substg1.0_10130102", data: []byte("<p>Inner <b>text</b></p>")},
			}},
		}},
	})
}

// TestGoldenOutlook reads a mail of Outlook and its attachments.
func TestGoldenOutlook(t *testing.T) {
	data := outlook(t)
	doc, err := read(t, "x.msg", data, nil)
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "testdata/golden/outlook.msg.md", []byte(shown(doc)))
	src := document.Source{Name: "x.msg", Data: bytes.NewReader(data), Size: int64(len(data)),
		Limits: document.DefaultLimits()}
	inner, err := Formats().Of(document.MSG).Open(t.Context(), src, "2")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(inner.Reader())
	if err != nil || !strings.Contains(string(text), "Inner **text**") {
		t.Errorf("the mail within the mail is %q, error %v", text, err)
	}
}

// TestCompressedText reads a mail that has only compressed rich text; the bytes are the
// example of MS-OXRTFCP.
func TestCompressedText(t *testing.T) {
	compressed := "\x2d\x00\x00\x00\x2b\x00\x00\x00\x4c\x5a\x46\x75\xf1\xc5\xc7\xa7\x03\x00\x0a\x00\x72\x63\x70\x67" +
		"\x31\x32\x35\x42\x32\x0a\xf3\x20\x68\x65\x6c\x09\x00\x20\x62\x77\x05\xb0\x6c\x64\x7d\x0a\x80\x0f\xa0"
	data := compound([]entry{
		{name: "__properties_version1.0", data: properties(32)},
		{name: "__substg1.0_10090102", data: []byte(compressed)},
	})
	if got := textOf(t, "x.msg", data); got != "hello world" {
		t.Errorf("the text is %q", got)
	}
}
