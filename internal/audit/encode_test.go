package audit

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	clipped "github.com/mcp-tools/mcp-tools/internal/text"
)

// fullRecord has text in every text field and a number in every other one.
func fullRecord(text string) Record {
	var r Record
	for v, i := reflect.ValueOf(&r).Elem(), 0; i < v.NumField(); i++ {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString(v.Type().Field(i).Name + text)
		case reflect.Float64:
			f.SetFloat(12.345)
		default:
			f.SetInt(int64(i))
		}
	}
	return r
}

func encoded(r Record) []byte {
	return append(append([]byte(`{"z":0`), appendFields(nil, r)...), '}')
}

func TestLinesShowWhatTheyHold(t *testing.T) {
	for _, text := range []string{
		"", "plain", "two\nlines\r\n", `"quoted" \ back`, "tab\tnul\x00esc\x1b[31m", "del\x7f c1\u009b31m",
		"bad \xff\xc3 utf-8",
		"\u2028\u2029", "bidi \u202e\u2066 zero\u200b width", "tag \U000e0041 emoji \U0001f600", "umlaut ä 漢字",
		"<a href='x'>&amp;",
	} {
		for name, r := range map[string]Record{"full": fullRecord(text), "one": {Tool: text},
			"negative": {Bytes: -1, Duration: -0.5, Error: text}} {
			line := encoded(r)
			standard, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			var got, want Record
			if err := json.Unmarshal(line, &got); err != nil {
				t.Fatalf("%s %q: %v in %s", name, text, err, line)
			}
			if err := json.Unmarshal(standard, &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s %q: (-standard +ours)\n%s", name, text, diff)
			}
			for _, c := range string(line) {
				if unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || c == utf8.RuneError {
					t.Errorf("%s %q: %q is not escaped in %s", name, text, c, line)
				}
			}
		}
	}
}

func TestEncoderFieldOrder(t *testing.T) {
	var names []string
	for f := range reflect.TypeFor[Record]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	if diff := cmp.Diff(names, csvNames()[3:len(csvNames())-2]); diff != "" {
		t.Errorf("the columns of the export (-record +csv)\n%s", diff)
	}
	line := encoded(fullRecord("x"))
	for _, name := range names {
		_, after, found := strings.Cut(string(line), `,"`+name+`":`)
		if !found {
			t.Fatalf("no %q after the field before it in %s", name, line)
		}
		line = []byte(after)
	}
	text, _ := newSealer(key{1}).seal(appendRow(nil, 7, fixedTime(), appendFields(nil, fullRecord("x"))), origin())
	row, ok := parseRow(1, string(text))
	if !ok {
		t.Fatal("not a row")
	}
	cells := csvRow(&row)
	if len(cells) != len(csvNames()) || slices.Contains(cells, "") {
		t.Errorf("cells %q for %d names", cells, len(csvNames()))
	}
}

func TestEncoderOmitsNaN(t *testing.T) {
	for _, ms := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got := string(encoded(Record{Duration: ms})); got != `{"z":0}` {
			t.Errorf("%v is %s", ms, got)
		}
	}
}

func TestLongTextsAreClipped(t *testing.T) {
	for _, letter := range []string{"a", "ä", "漢", "\U0001f600", "\x01", "\xff"} {
		var got Record
		text := "x" + strings.Repeat(letter, maxText)
		if err := json.Unmarshal(encoded(Record{Error: text}), &got); err != nil {
			t.Fatal(err)
		}
		body, cut := strings.CutSuffix(got.Error, "…")
		want, _ := json.Marshal(text)
		var clean string
		if err := json.Unmarshal(want, &clean); err != nil {
			t.Fatal(err)
		}
		if !cut || !strings.HasPrefix(clean, body) || len(body) < maxText/4*3/3 {
			t.Errorf("%q: cut %t, %d bytes", letter, cut, len(body))
		}
	}
	if line := encoded(fullRecord(strings.Repeat("\x01", maxText))); len(line)+tailLen+100 > maxLine {
		t.Errorf("the longest line has %d bytes, and readers take %d", len(line), maxLine)
	}
}

func FuzzLine(f *testing.F) {
	s := newSealer(key{1})
	line, _ := s.seal(appendRow(nil, 7, fixedTime(), appendFields(nil, Record{Tool: "x"})), origin())
	f.Add(string(line))
	head, _, _ := s.sealJSON(head{Head: 1, Kind: headBegun}, origin())
	f.Add(head)
	f.Add(`{"seq":1,"prev":"`)
	f.Add("")
	f.Fuzz(func(t *testing.T, line string) {
		s := newSealer(key{1})
		frame, ok := parseLine([]byte(line))
		row, isRow := parseRow(1, line)
		if isRow && !ok {
			t.Fatal("a row without a frame")
		}
		if !ok {
			return
		}
		if isRow && (row.Seq != frame.number || row.Hash != frame.hash.String() || row.Prev != frame.prev.String()) &&
			s.authentic(frame) {
			t.Fatalf("frame %+v and row %+v differ", frame, row)
		}
		again, link := s.seal(append([]byte(nil), frame.covered[:len(frame.covered)-len(prevName)-linkLen]...),
			frame.prev)
		if authentic := s.authentic(frame); authentic != (string(again) == line) || authentic &&
			link != linkOf([]byte(line)) {
			t.Fatal("what is authentic is not what we would have written")
		}
	})
}

// FuzzHeads reads heads of an attacker.
func FuzzHeads(f *testing.F) {
	lines, err := sealHeads(key{1}, head{Kind: headReached,
		Chains: []point{{Chain: "c", Key: "k", Seq: 3}}})(headRow{}, false)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(lines[0].Line, lines[1].Line, true)
	f.Add(lines[1].Line, lines[0].Line, false)
	f.Add("", "{}", true)
	f.Fuzz(func(t *testing.T, first, second string, keyed bool) {
		w := walker{counter: headLine, last: origin()}
		if keyed {
			w.seal = newSealer(key{1})
		}
		b := headIndex{reached: map[string]point{}, pruned: map[string]point{}}
		problems := 0
		for i, line := range []string{first, second} {
			b.read(&w, headRow{Key: "k", Number: int64(i) + 1, Line: line}, func(int64, Kind, string) { problems++ })
		}
		if keyed && problems == 0 && (first != lines[0].Line || second != lines[1].Line) {
			if f, ok := parseLine([]byte(second)); !ok || !w.seal.authentic(f) {
				t.Fatal("what is not authentic was taken")
			}
		}
	})
}

func FuzzText(f *testing.F) {
	f.Add("a\x00\u009b\xff\u2028\U000e0041\"\\")
	f.Fuzz(func(t *testing.T, text string) {
		text = clipped.Clip(text, maxText)
		standard, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var got, want string
		var r Record
		if err := json.Unmarshal(encoded(Record{Error: text}), &r); err != nil {
			t.Fatal(err)
		}
		got = r.Error
		if err := json.Unmarshal(standard, &want); err != nil || got != want {
			t.Fatalf("%q came back as %q, not as %q (%v)", text, got, want, err)
		}
	})
}
