package fs

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// filesInMemory is Files with files in memory.
type filesInMemory struct {
	workspace.Files
	files map[string]string
	bulk  map[string]io.ReaderAt // of bulkSize bytes
}

const bulkSize = 50 << 20

func (d *filesInMemory) Open(_ context.Context, path string) (*workspace.File, error) {
	if r, ok := d.bulk[path]; ok {
		return &workspace.File{Name: path, Exists: true, Size: bulkSize, Stamp: "s", ReaderAt: r,
			Closer: io.NopCloser(nil)}, nil
	}
	content, ok := d.files[path]
	if !ok {
		return nil, tool.Errorf(tool.NotFound, "there is no file %q", path).Try("call list_files")
	}
	return &workspace.File{
		Name: path, Exists: true, Size: int64(len(content)),
		ReaderAt: strings.NewReader(content), Closer: io.NopCloser(nil),
	}, nil
}

func inSession(t testing.TB) context.Context {
	return tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: "a", User: "u", Session: "s"}})
}

// fakeReader is the tool over these files.
func fakeReader(files map[string]string) readFile {
	return newReadFile(&filesInMemory{files: files}, &Seen{}, nil)
}

// ask makes the arguments the way a call does.
func ask(t testing.TB, one readFile, ctx context.Context, raw string) (tool.Result, error) {
	t.Helper()
	call, err := tool.New(one).Bind([]byte(raw), tool.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	return call.Run(ctx)
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

func TestReadFile(t *testing.T) {
	var shot bytes.Buffer
	if err := png.Encode(&shot, image.NewGray(image.Rect(0, 0, 30, 20))); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 3000)
	files := map[string]string{
		"notes.txt": "one\ntwo\nthree\n", "bare": "one", "empty": "", "dos.txt": "a\r\nb\r\n", "mixed.txt": "a\r\nb\nc\n",
		"bidi.txt": "a\u202Eb\U000E0041\n", "bom.txt": "\xEF\xBB\xBFhi\n", "wide.txt": "\xFF\xFEh\x00i\x00\n\x00", "latin.txt": "gr\xFC\xDFe\n", "odd.txt": "\xC4\xE3\xBA\xC3\xA3\xAC\xCA\xC0\xBD\xE7\n",
		"damaged.txt": strings.Repeat("ä", 20) + "\xFF\n", "late.txt": strings.Repeat("ascii\n", 20_000) + "caf\xE9\n",
		"many.txt": numbered(5000), "long.txt": "a\n" + long + "\n" + strings.Repeat(long+"\n", 9), "one.json": long,
		"a.pdf": "%PDF-1.7\n\x00", "a.zip": "PK\x03\x04\x14\x00\x00PK\x05\x06\x00\x00\x00\x00\x07\x00\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		"a.bin": "a\x00b\x01c", "a.psd": "8BPS\x00\x01", "broken.png": "\x89PNG\r\n\x1a\n\x00", "shot.png": shot.String(),
	}
	v := func(name string) string { return "version " + VersionOf([]byte(files[name])) }
	tests := []struct {
		args string
		want string
	}{
		{`{"path":"notes.txt"}`, "[notes.txt: 3 lines, 14 B, " + v("notes.txt") + "]\none\ntwo\nthree"},
		{`{"path":"notes.txt","raw":true}`, "one\ntwo\nthree\n"},
		{`{"path":"notes.txt","raw":true,"offset":2,"limit":1}`, "two\n"},
		{`{"path":"bare","raw":true}`, "one"}, {`{"path":"empty","raw":true}`, ""},
		{`{"path":"mixed.txt","raw":true}`, "a\r\nb\nc\n"},
		{`{"path":"many.txt","raw":true,"max_bytes":100000}`, files["many.txt"]},
		{`{"path":"long.txt","raw":true,"max_bytes":50000}`, files["long.txt"]},
		{`{"file_path":"bare"}`, "[bare: 1 line, 3 B, " + v("bare") + ", no newline at the end]\none"},
		{`{"path":"empty"}`, "[empty: empty, " + v("empty") + "]"},
		{`{"path":"empty","offset":7}`, "[empty: empty, " + v("empty") + "]"},
		{`{"path":"dos.txt"}`, "[dos.txt: 2 lines, 6 B, " + v("dos.txt") + ", CRLF]\na\nb"},
		{`{"path":"mixed.txt"}`, "[mixed.txt: 3 lines, 7 B, " + v("mixed.txt") + ", mixed line endings (1 CRLF, 2 LF)]\na\nb\nc"},
		{`{"path":"bom.txt"}`, "[bom.txt: 1 line, 6 B, " + v("bom.txt") + ", UTF-8 with a byte order mark]\nhi"},
		{`{"path":"bidi.txt"}`, "[bidi.txt: 1 line, 10 B, " + v("bidi.txt") + ", 2 invisible characters such as U+202E]\na\u202Eb\U000E0041"},
		{`{"path":"notes.txt","max_bytes":2}`, "[notes.txt: line 1 of 3, 14 B, " + v("notes.txt") + "]\no [2 more bytes in this line]\n" +
			"[long lines were shortened; to read one use offset 1, limit 1 and max_bytes up to 400000, or find text in it with search]\n[2 more lines; continue with offset 2]"},
		{`{"path":"wide.txt"}`, "[wide.txt: 1 line, 8 B, " + v("wide.txt") + ", utf-16le]\nhi"},
		{`{"path":"latin.txt"}`, "[latin.txt: 1 line, 6 B, " + v("latin.txt") + ", latin-1]\ngrüße"},
		{`{"path":"odd.txt","encoding":"Latin1"}`, "[odd.txt: 1 line, 11 B, " + v("odd.txt") + ", latin-1, but it seems to be gb18030: omit encoding]\nÄãºÃ£¬ÊÀ½ç"},
		{`{"path":"damaged.txt"}`, "[damaged.txt: 1 line, 42 B, " + v("damaged.txt") + ", bytes that are not UTF-8 are shown as \uFFFD]\n" + strings.Repeat("ä", 20) + "\uFFFD"},
		{`{"path":"late.txt","offset":-1}`, "[late.txt: line 20001 of 20001, 120 kB, " + v("late.txt") + ", latin-1]\ncafé"},
		{`{"path":"many.txt","offset":4998}`, "[many.txt: lines 4998 to 5000 of 5000, 49 kB, " + v("many.txt") + "]\nline 4998\nline 4999\nline 5000"},
		{`{"path":"many.txt","offset":2,"limit":2,"numbers":true}`, "[many.txt: lines 2 to 3 of 5000, 49 kB, " + v("many.txt") + "]\n2|line 2\n3|line 3\n[4997 more lines; continue with offset 4]"},
		{`{"path":"many.txt","offset":-2,"limit":1}`, "[many.txt: line 4999 of 5000, 49 kB, " + v("many.txt") + "]\nline 4999\n[1 more line; continue with offset 5000]"},
		{`{"path":"notes.txt","anchors":true,"limit":2}`, "[notes.txt: lines 1 to 2 of 3, 14 B, " + v("notes.txt") + "]\n1#4j|one\n2#xl|two\n[1 more line; continue with offset 3]"},
		{`{"path":"long.txt","limit":2}`, "[long.txt: lines 1 to 2 of 11, 30 kB, " + v("long.txt") + "]\na\n" + long[:2000] + " [1000 more bytes in this line]\n" +
			"[long lines were shortened; to read one use offset 2, limit 1 and max_bytes up to 400000, or find text in it with search]\n[9 more lines; continue with offset 3]"},
		{`{"path":"long.txt","offset":2,"limit":1}`, "[long.txt: line 2 of 11, 30 kB, " + v("long.txt") + "]\n" + long + "\n[9 more lines; continue with offset 3]"},
		{`{"path":"one.json"}`, "[one.json: 1 line, 3.0 kB, " + v("one.json") + ", no newline at the end]\n" + long},
		{`{"path":"a.pdf"}`, "[a.pdf: PDF document, 10 B, " + v("a.pdf") + "; not text: to get its bytes use encoding base64]"},
		{`{"path":"a.zip"}`, "[a.zip: zip archive, 29 B, " + v("a.zip") + "; not text: list or unpack it with a command]"},
		{`{"path":"a.bin"}`, "[a.bin: binary data, 5 B, " + v("a.bin") + "; not text: to get its bytes use encoding base64]"},
		{`{"path":"a.bin","encoding":"utf-8"}`, "[a.bin: 1 line, 5 B, " + v("a.bin") + ", no newline at the end]\na\x00b\x01c"},
		{`{"path":"a.bin","encoding":"base64"}`, "[a.bin: bytes 0 to 5 of 5, " + v("a.bin") + ", base64]\nYQBiAWM="},
		{`{"path":"a.bin","encoding":"base64","offset":1,"limit":2}`, "[a.bin: bytes 1 to 3 of 5, " + v("a.bin") + ", base64]\nAGI=\n[continue with offset 3]"},
		{`{"path":"a.bin","encoding":"base64","offset":-2}`, "[a.bin: bytes 3 to 5 of 5, " + v("a.bin") + ", base64]\nAWM="},
		{`{"path":"empty","encoding":"base64"}`, "[empty: bytes 0 to 0 of 0, " + v("empty") + ", base64]\n"},
		{`{"path":"a.psd"}`, "[a.psd: Photoshop image, 6 B, " + v("a.psd") + "; not text: convert it to PNG with a command, then read that]"},
		{`{"path":"broken.png"}`, "[broken.png: PNG image, 9 B, " + v("broken.png") + "; not shown: it could not be decoded; to get its bytes use encoding base64]"},
		{`{"path":"shot.png"}`, fmt.Sprintf("[shot.png: 30x20 PNG, %d B, ", shot.Len()) + v("shot.png") + "]"},
	}
	one := fakeReader(files)
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			res, err := ask(t, one, t.Context(), tt.args)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, res.Text()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadFileRefusals(t *testing.T) {
	one := fakeReader(map[string]string{"notes.txt": "one\ntwo\n"})
	for _, tt := range []struct {
		args string
		kind tool.Kind
		want string
	}{
		{`{}`, tool.Invalid, `"path" is missing`},
		{`{"paths":[]}`, tool.Invalid, `"path" is missing`},
		{`{"path":"notes.txt","max_bytes":400001}`, tool.Invalid, "the maximum is 400000"},
		{`{"paths":["1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","16","17","18","19","20","21"]}`, tool.Invalid, "the maximum is 20"},
		{`{"path":"gone"}`, tool.NotFound, "gone"},
		{`{"path":"notes.txt","offset":3}`, tool.Invalid, "notes.txt has only 2 lines; to get the last 50 lines use offset -50"},
		{`{"path":"notes.txt","offset":8,"encoding":"base64"}`, tool.Invalid, "only 8 bytes"},
		{`{"path":"notes.txt","encoding":"klingon"}`, tool.Invalid, "use one of utf-8, utf-8-bom"},
	} {
		_, err := ask(t, one, t.Context(), tt.args)
		if known := tool.AsError(err); known == nil || known.Kind != tt.kind ||
			!strings.Contains(known.Error(), tt.want) {
			t.Errorf("%s: %v", tt.args, err)
		}
	}
}

func TestReadFileBoundsItsAnswer(t *testing.T) {
	one := fakeReader(map[string]string{
		"many.txt": numbered(100_000), "one line": strings.Repeat("é", 5<<20), "newlines": strings.Repeat("\n", 1<<20),
		"bytes.bin": strings.Repeat("\x00", 1<<20),
	})
	for _, args := range []string{
		`{"path":"many.txt"}`, `{"path":"many.txt","limit":100000,"max_bytes":1000}`, `{"path":"many.txt","anchors":true,"max_bytes":5000}`,
		`{"path":"one line"}`, `{"path":"one line","limit":1,"max_bytes":400000}`, `{"path":"newlines","limit":1000000,"max_bytes":200}`,
		`{"path":"bytes.bin","encoding":"base64"}`, `{"paths":["many.txt","one line","newlines","bytes.bin"]}`,
	} {
		res, err := ask(t, one, t.Context(), args)
		if err != nil {
			t.Fatal(err)
		}
		most := 16_000
		switch {
		case strings.Contains(args, "1000,") || strings.Contains(args, `"max_bytes":1000}`):
			most = 1000
		case strings.Contains(args, "5000}"):
			most = 5000
		case strings.Contains(args, "400000"):
			most = 400_000
		}
		if n := len(res.Text()); n > most+1000 || n < min(most, 200)/4 {
			t.Errorf("%s: %d bytes came back", args, n)
		}
	}
}

func TestReadFileAgain(t *testing.T) {
	files := map[string]string{"a.txt": strings.Repeat("some words\n", 50)}
	one, ctx := fakeReader(files), inSession(t)
	text := func(args string) string {
		t.Helper()
		res, err := ask(t, one, ctx, args)
		if err != nil {
			t.Fatal(err)
		}
		return res.Text()
	}
	const all, some = `{"path":"a.txt"}`, `{"path":"a.txt","limit":5}`
	first := text(all)
	want := "[a.txt is unchanged since you read this part of it (version " + VersionOf([]byte(files["a.txt"])) + "); to see it again call once more]"
	if got := text(all); got != want {
		t.Errorf("the second time: %s", got)
	}
	if text(all) != first {
		t.Error("the third time it is not shown")
	}
	if got := text(some); got == want {
		t.Error("other lines count as shown")
	}
	files["a.txt"] += "more\n"
	if got := text(all); !strings.HasSuffix(got, "more") {
		t.Errorf("after a change: %s", got)
	}
	if v, ok := one.seen.Version(tool.CallerFrom(ctx), "a.txt"); !ok || v != VersionOf([]byte(files["a.txt"])) {
		t.Errorf("the session knows version %q", v)
	}
}

func TestReadSeveralFiles(t *testing.T) {
	var shot bytes.Buffer
	if err := png.Encode(&shot, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	one := fakeReader(map[string]string{"a": "one\n", "b": "two\n", "c.png": shot.String()})
	res, err := ask(t, one, t.Context(), `{"path":"a","paths":["gone","c.png","b"]}`)
	if err != nil {
		t.Fatal(err)
	}
	want := "[a: 1 line, 4 B, version " + VersionOf([]byte("one\n")) + "]\none\n" +
		`["gone": not_found: there is no file "gone"; call list_files]` + "\n" +
		fmt.Sprintf("[c.png: 3x2 PNG, %d B, version %s]\n", shot.Len(), VersionOf(shot.Bytes())) +
		"[b: 1 line, 4 B, version " + VersionOf([]byte("two\n")) + "]\ntwo"
	if diff := cmp.Diff(want, res.Text()); diff != "" || res.Failed {
		t.Error(diff)
	}
	if len(res.Parts) != 5 || res.Parts[3].MIME != "image/png" || !bytes.Equal(res.Parts[3].Data, shot.Bytes()) {
		t.Errorf("the image is not in its place: %d parts", len(res.Parts))
	}
	res, err = ask(t, one, t.Context(), `{"paths":["gone","away"]}`)
	if err != nil || !res.Failed || res.Kind != tool.NotFound {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestReadFileEndsWithItsCall(t *testing.T) {
	one := fakeReader(map[string]string{"a": "one\n"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range []string{`{"path":"a"}`, `{"paths":["a","a"]}`} {
		if _, err := ask(t, one, ctx, args); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestReadFileScalesImages(t *testing.T) {
	var shot bytes.Buffer
	if err := png.Encode(&shot, image.NewGray(image.Rect(0, 0, 3136, 1000))); err != nil {
		t.Fatal(err)
	}
	res, err := ask(t, fakeReader(map[string]string{"big.png": shot.String()}), t.Context(), `{"path":"big.png"}`)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(res.Text(), "1568x500 PNG") || !strings.Contains(res.Text(), "scaled from 3136x1000 PNG") || len(res.Parts) != 2 {
		t.Errorf("%s, %d parts", res.Text(), len(res.Parts))
	}
}

// repeated is a file of bulkSize bytes that is nowhere.
type repeated struct{ line string }

func (r repeated) ReadAt(p []byte, off int64) (int, error) {
	for n := 0; n < len(p); {
		n += copy(p[n:], r.line[(off+int64(n))%int64(len(r.line)):])
	}
	return len(p), nil
}

func TestReadFarInsideALargeFile(t *testing.T) {
	one := newReadFile(&filesInMemory{bulk: map[string]io.ReaderAt{"big": repeated{"sixty-four bytes are what this line has, with its end, to the dot.\n"}}}, &Seen{}, nil)
	if _, err := ask(t, one, t.Context(), `{"path":"big","limit":1}`); err != nil { // compiles expressions, once
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res, err := ask(t, one, t.Context(), `{"path":"big","offset":500000,"limit":101}`)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(res.Text()); n > 10_000 || !strings.Contains(res.Text(), "lines 500000 to 500100 of ") {
		t.Errorf("%d bytes: %.200s", n, res.Text())
	}
	// The file has 33 MB up to there. With the race detector, regular expressions
	// allocate again what they otherwise keep.
	if used := after.TotalAlloc - before.TotalAlloc; used > 20<<20 {
		t.Errorf("%d bytes of memory were used", used)
	}
}

// FuzzReadFile expects an answer in its bounds, whatever is in the file.
func FuzzReadFile(f *testing.F) {
	f.Add([]byte("a\r\nb"), 1, 2, false)
	f.Add([]byte("PK\x05\x06"), -1, 0, true)
	f.Add([]byte("%PDF-"), 0, 0, true)
	f.Add([]byte("\xFF\xFEa"), 5, 9, false)
	f.Fuzz(func(t *testing.T, data []byte, offset, limit int, anchors bool) {
		one := fakeReader(map[string]string{"x": string(data)})
		for _, encoding := range []string{"", "base64", "latin-1"} {
			a := readFileArgs{Path: "x", Offset: offset, Limit: max(limit, 0), MaxBytes: 300, Encoding: encoding,
				Anchors: anchors}
			res, err := one.Do(t.Context(), a)
			if err != nil && tool.AsError(err).Kind != tool.Invalid {
				t.Fatal(err)
			}
			if n := len(res.Text()); n > 300+500 {
				t.Fatalf("%d bytes came back", n)
			}
			if encoding == "base64" && err == nil && offset == 0 && limit <= 0 && len(data) <= 200 {
				lines := strings.Split(res.Text(), "\n")
				if got, err := base64.StdEncoding.DecodeString(lines[1]); err != nil || !bytes.Equal(got, data) {
					t.Fatalf("%q, %v", got, err)
				}
			}
		}
	})
}

func BenchmarkRead1K(b *testing.B) {
	one := newReadFile(&filesInMemory{files: map[string]string{"a": strings.Repeat("thirty-two bytes are in this one\n", 31)}}, &Seen{}, nil)
	a := readFileArgs{Path: "a", MaxBytes: 16_000}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := one.Do(b.Context(), a); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadLines50MB(b *testing.B) {
	content := bytes.Repeat([]byte("Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do ei\n"), bulkSize/67+1)[:bulkSize]
	one := newReadFile(&filesInMemory{bulk: map[string]io.ReaderAt{"big": bytes.NewReader(content)}}, &Seen{}, nil)
	a := readFileArgs{Path: "big", Offset: 500_000, Limit: 101, MaxBytes: 16_000}
	b.ReportAllocs()
	for b.Loop() {
		if res, err := one.Do(b.Context(), a); err != nil || len(res.Text()) > 10_000 {
			b.Fatal(len(res.Text()), err)
		}
	}
}

// TestReadFileAsOthersAsk has arguments that other systems' tools take.
func TestReadFileAsOthersAsk(t *testing.T) {
	one := fakeReader(map[string]string{"n.txt": numbered(9)})
	for raw, want := range map[string]string{
		`{"file_path":"n.txt","start_line":3,"end_line":4}`: "\nline 3\nline 4\n",
		`{"path":"n.txt","tail":2}`:                         "\nline 8\nline 9\n",
	} {
		res, err := ask(t, one, t.Context(), raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Text() + "\n"; !strings.Contains(got, want) || strings.Contains(got, "line 5") ||
			strings.Contains(got, "line 7\n") {
			t.Errorf("%s: %s", raw, got)
		}
	}
}

// TestReadFileWithinTokens checks that text with many tokens for its size is cut earlier, unless the caller
// sets a number of bytes.
func TestReadFileWithinTokens(t *testing.T) {
	files := map[string]string{"sums": strings.Repeat("1f 2e 3d 4c 5b 6a 79 88 97 a6 b5 c4\n", 400), "prose": strings.Repeat("some plain words of text\n", 600)}
	one := newReadFile(&filesInMemory{files: files}, &Seen{}, nil)
	for _, c := range []struct {
		args map[string]any
		cut  bool
	}{
		{map[string]any{"path": "sums"}, true}, {map[string]any{"path": "sums", "max_bytes": 16000}, false}, {map[string]any{"path": "prose"}, false},
	} {
		got, err := call(t.Context(), t, tool.New(one), c.args)
		if err != nil || strings.Contains(got, "continue with offset") != c.cut {
			t.Errorf("%v: %.200q, %v", c.args, got, err)
		}
	}
}
