package textfile

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	tests := []struct {
		name, data, encoding string
		want, found          string
		lossless             bool
	}{
		{"nothing", "", "", "", UTF8, true},
		{"ASCII", "hello\n", "", "hello\n", UTF8, true},
		{"UTF-8", "grüß\n", "", "grüß\n", UTF8, true},
		{"UTF-8 with a mark", "\xEF\xBB\xBFhi", "", "hi", UTF8BOM, true},
		{"UTF-8 with a mark, asked for UTF-8", "\xEF\xBB\xBFhi", "utf8", "hi", UTF8BOM, true},
		{"asked for a mark that is not there", "hi", "utf-8-bom", "hi", UTF8BOM, false},
		{"damaged UTF-8", strings.Repeat("ä", 20) + "\xFF", "", strings.Repeat("ä", 20) + "\uFFFD", UTF8, false},
		{"UTF-16", "\xFF\xFEh\x00i\x00", "", "hi", UTF16LE, true},
		{"UTF-16 big endian", "\xFE\xFF\x00h\x00i", "", "hi", UTF16BE, true},
		{"half a pair", "\xFF\xFEa\x00\x00\xD8b\x00", "", "a\uFFFDb", UTF16LE, false},
		{"half a unit", "\xFF\xFEa\x00b", "", "a\uFFFD", UTF16LE, false},
		{"a pair", "\xFF\xFE\x3D\xD8\x00\xDE", "", "😀", UTF16LE, true},
		{"Latin-1", "caf\xE9 cr\xE8me\n", "", "café crème\n", Latin1, true},
		{"Shift-JIS", "\x96\xBC\x91O,34\n", "", "名前,34\n", ShiftJIS, true},
		{"EUC-KR", "\xC0\xCC\xB8\xA7,\xBC\xAD\xBF\xEF,34\n", "", "이름,서울,34\n", EUCKR, true},
		{"GBK", "\xD0\xD5\xC3\xFB,34\n", "", "姓名,34\n", GB18030, true},
		{"Latin-1 at the end", "caf\xE9", "", "café", Latin1, true},
		{"German Latin-1", "Gr\xF6\xDFe: \xC4rger, \xDCbung, M\xFCller", "", "Größe: Ärger, Übung, Müller", Latin1, true},
		{"Windows-1252", "\x93quoted\x94 \x96 \x80 5\n", "", "“quoted” – € 5\n", Windows1252, true},
		{"not even Windows-1252", "\x81\x8D", "", "\u0081\u008d", Latin1, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, err := Decode([]byte(tt.data), tt.encoding)
			if err != nil {
				t.Fatal(err)
			}
			if d.Text != tt.want || d.Encoding != tt.found || d.Lossless != tt.lossless {
				t.Errorf("got %q, %s, %t; want %q, %s, %t", d.Text, d.Encoding, d.Lossless, tt.want, tt.found, tt.lossless)
			}
			if again, err := d.Encode(d.Text); d.Lossless && (err != nil || string(again) != tt.data) {
				t.Errorf("encoded again: %q, %v; was %q", again, err, tt.data)
			}
		})
	}
	if _, err := Decode(nil, "klingon"); !errors.Is(err, ErrEncoding) {
		t.Errorf("an unknown encoding: %v", err)
	}
}

func TestEncodeNamesTheCharacter(t *testing.T) {
	for _, tt := range []struct {
		encoding, text string
		char           rune
	}{
		{Latin1, "5 € für", '€'},
		{Windows1252, "“ok” →", '→'},
	} {
		d, err := New(tt.encoding)
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.Encode(tt.text)
		var missing *CharError
		if !errors.As(err, &missing) || missing.Char != tt.char || missing.Encoding != tt.encoding {
			t.Errorf("%s: %v", tt.encoding, err)
		}
	}
	if _, err := (Doc{Encoding: Latin1}).Encode("\xFF"); err == nil {
		t.Error("text that is not UTF-8 was encoded")
	}
}

func TestNewHasTheUsualMark(t *testing.T) {
	for encoding, want := range map[string]string{
		"": "a", UTF8BOM: "\xEF\xBB\xBFa", "UTF-16": "\xFF\xFEa\x00", UTF16BE: "\xFE\xFF\x00a",
	} {
		d, err := New(encoding)
		if err != nil {
			t.Fatal(err)
		}
		if data, err := d.Encode("a"); err != nil || string(data) != want {
			t.Errorf("%q: %q, %v", encoding, data, err)
		}
	}
}

func TestEveryEncodingHasItsName(t *testing.T) {
	for _, name := range Encodings() {
		if got, err := Name(strings.ToUpper(name)); err != nil || got != name {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestDetectLooksAtABeginning(t *testing.T) {
	whole := strings.Repeat("Straße und Öl. ", 50) + "ß"
	cut := []byte(whole[:len(whole)-1])
	if got := Detect(cut, false); got != UTF8 {
		t.Errorf("cut in a character: %s", got)
	}
	long := append(bytes.Repeat([]byte("a"), maxSample-1), "é and more"...)
	if got := Detect(long, true); got != UTF8 {
		t.Errorf("cut by the limit: %s", got)
	}
}

func TestSniff(t *testing.T) {
	tests := []struct{ name, head, want string }{
		{"a.txt", "hello\n", ""},
		{"a.txt", "", ""},
		{"a.txt", "a\x1b[31mred\x1b[0m\f\n", ""},
		{"a.txt", "\xFF\xFEh\x00i\x00", ""},
		{"a.txt", "MZ is how it begins, BM too, and PK\n", ""},
		{"a.txt", "\xC4\xE3\xBA\xC3\n", ""},
		{"a.pdf", "%PDF-1.7\n1 0 obj\n", "PDF document"},
		{"a.png", "\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR", "PNG image"},
		{"a.zip", "PK\x03\x04\x14\x00\x06\x00abc", "zip archive"},
		{"a.zip", "PK\x03\x04\x14\x00\x08\x00\x08\x00META-INF/MANIFEST.MF", "Java archive"},
		{"a.gz", "\x1F\x8B\x08\x00\x00\x00\x00\x00", "gzip archive"},
		{"a", "\x7FELF\x02\x01\x01\x00", "ELF program or library"},
		{"a.exe", "MZ\x90\x00\x03\x00", "Windows program or library"},
		{"A.class", "\xCA\xFE\xBA\xBE\x00\x00\x00\x41", "Java class"},
		{"a", "\xCA\xFE\xBA\xBE\x00\x00\x00\x02", "Mach-O program or library"},
		{"a.webp", "RIFF\x24\x00\x00\x00WEBPVP8 ", "WebP image"},
		{"a.wav", "RIFF\x24\x00\x00\x00WAVEfmt ", "WAV audio"},
		{"a.db", "SQLite format 3\x00\x10\x00", "SQLite database"},
		{"a.wasm", "\x00asm\x01\x00\x00\x00", "WebAssembly module"},
		{"a.mp4", "\x00\x00\x00\x20ftypisom\x00\x00\x02\x00", "MP4 video"},
		{"a.tar", "name" + strings.Repeat("\x00", 253) + "ustar\x00", "tar archive"},
		{"a", "\xFF\xFE\x00\x00h\x00\x00\x00", "text in UTF-32"},
		{"a", "some\x00bytes", "binary data"},
		{"a", "\x01\x02\x03\x04\x05\x06", "binary data"},
	}
	for _, tt := range tests {
		if got := Sniff([]byte(tt.head), tt.name); got.Name != tt.want || got.Binary() != (tt.want != "") {
			t.Errorf("%s %.20q: got %q, want %q", tt.name, tt.head, got.Name, tt.want)
		}
	}
}

func TestAnchor(t *testing.T) {
	same := []string{"a line", "a line\n", "a line\r\n"}
	for _, line := range same {
		if got := Anchor([]byte(line)); len(got) != 2 || got != Anchor([]byte(same[0])) {
			t.Errorf("%q has %q", line, got)
		}
	}
	if Anchor([]byte("a\xFFb")) != Anchor([]byte("a\uFFFDb")) {
		t.Error("an anchor changes when damage is replaced")
	}
	marks := map[string]int{}
	for i := range 10_000 {
		marks[Anchor([]byte(strings.Repeat("\t", i%4)+"return "+string(rune('a'+i%26))+strings.Repeat("x", i/26)))]++
	}
	for mark, n := range marks {
		if n > 60 { // 10 on average
			t.Errorf("%d lines of 10000 have %q", n, mark)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, data := range []string{"", "hi\n", "\xEF\xBB\xBFa", "\xFF\xFEa\x00\x3D\xD8\x00\xDE", "h\x00i\x00",
		"caf\xE9", "\x93a\x94", "\xC4\xE3\xBA\xC3", "\x81\x30\x81\x30", "\x80\xFF", "\xFE\xFF\xD8\x00"} {
		for i := range len(Encodings()) + 1 {
			f.Add([]byte(data), i)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, which int) {
		encoding := ""
		if which > 0 && which <= len(Encodings()) {
			encoding = Encodings()[which-1]
		}
		before := bytes.Clone(data)
		d, err := Decode(data, encoding)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(before, data) {
			t.Fatal("decoding changed its input")
		}
		if again, err := d.Encode(d.Text); d.Lossless && (err != nil || !bytes.Equal(again, data)) {
			t.Fatalf("%s: %q became %q became %q, %v", d.Encoding, data, d.Text, again, err)
		}
		Sniff(data, "x.zip")
		Anchor(data)
	})
}
