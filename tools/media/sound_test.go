package media

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/media/provider"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/providertest"
)

func TestSpeechOffline(t *testing.T) {
	needtest.Program(t, "espeak-ng")
	r := newRoom(t)
	speech := tool.Prepared(speak{r.studio})
	res := r.must(speech, map[string]any{"text": "Good morning, harbour.", "format": "wav"})
	if !strings.Contains(res.Text(), "[speech by espeak-ng saved as generated/") || len(res.Parts) != 3 {
		t.Fatalf("%q, %d parts", res.Text(), len(res.Parts))
	}
	if link := res.Parts[1]; !strings.HasSuffix(link.URI, "/good-morning-harbour.wav") {
		t.Errorf("the link is %+v", link)
	}
	wav := res.Parts[2].Data
	if res.Parts[2].MIME != "audio/wav" || len(wav) < 10_000 ||
		int(binary.LittleEndian.Uint32(wav[4:])) != len(wav)-8 ||
		int(binary.LittleEndian.Uint32(wav[40:])) != len(wav)-44 {
		t.Errorf("%s of %d bytes, %x", res.Parts[2].MIME, len(wav), wav[:min(len(wav), 44)])
	}
	if has("ffmpeg") {
		for format, mime := range map[string]string{"": "audio/mpeg", "opus": "audio/ogg"} {
			args := map[string]any{"input": "Guten Morgen", "language": "de"}
			if format != "" {
				args["format"] = format
			}
			if res := r.must(speech, args); res.Parts[2].MIME != mime {
				t.Errorf("%q: %s", format, res.Parts[2].MIME)
			}
		}
	}
	for _, args := range []map[string]any{
		{"text": " "}, {"text": "x", "voice": "../../x"}, {"text": "x", "voice": "-f"}, {"text": "x", "speed": 20},
	} {
		if _, err := r.call(speech, args); err == nil || tool.AsError(err).Kind != tool.Invalid {
			t.Errorf("%v: %v", args, err)
		}
	}
	if _, err := r.call(speech, map[string]any{"text": "x",
		"voice": "klingon9"}); tool.AsError(err).Kind != tool.Unavailable {
		t.Error(err)
	}
}

func TestProgramsOfTheOperator(t *testing.T) {
	needtest.Program(t, "sh")
	r := newRoom(t)
	model := filepath.Join(t.TempDir(), "model")
	if err := os.WriteFile(model, []byte("the model"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.Speak = []string{"sh", "-c", `printf 'RIFF....WAVEfmt 1234567890123456%s' "data....$1 $(cat)"`, "sh", "{voice}"}
	r.Transcribe = []string{"sh", "-c", `echo "$(cat "$1") heard $(head -c 4 "$2") in $3"`, "sh", model, "{file}",
		"{language}"}
	res := r.must(tool.Prepared(speak{r.studio}), map[string]any{"text": "hello", "voice": "anna", "format": "wav"})
	if said := string(res.Parts[2].Data); !strings.HasSuffix(said, "anna hello") {
		t.Errorf("%q", said)
	}
	r.write("talk.wav", silence())
	read := tool.Prepared(readAudio{r.studio})
	text := r.must(read, map[string]any{"path": "talk.wav", "language": "de"}).Text()
	if !strings.Contains(text, "[transcript by sh]\nthe model heard RIFF in de") {
		t.Errorf("%q", text)
	}
	r.Client = pages{"https://example.org/talk.wav": silence()}
	if text := r.must(tool.Prepared(readAudio{r.studio}),
		map[string]any{"url": "https://example.org/talk.wav"}).Text(); !tool.Quoted(text) {
		t.Errorf("a transcript from the web is not quoted: %q", text)
	}
	r.Transcribe = []string{"sh", "-c", "exit 2"}
	if _, err := r.call(tool.Prepared(readAudio{r.studio}),
		map[string]any{"path": "talk.wav"}); tool.AsError(err).Kind != tool.Unavailable {
		t.Error(err)
	}
}

// silence is a tenth of a second of WAV.
func silence() []byte {
	const samples = 1600
	wav := []byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x80\x3e\x00\x00\x00\x7d\x00\x00\x02\x00\x10\x00data\x00\x00\x00\x00")
	return withLength(append(wav, make([]byte, 2*samples)...))
}

// A provider that the caller names may have charged the text: no program reads it instead.
func TestNamedProviderIsNotReplaced(t *testing.T) {
	needtest.Program(t, "sh")
	r := newRoom(t)
	s := providertest.New(t)
	s.On("POST /text-to-speech/v", providertest.Reply{Status: 500})
	client := providertest.Client(t, s)
	var err error
	if r.Providers, err = provider.New(provider.Options{
		Endpoints: []provider.Endpoint{{Name: "elevenlabs", Kind: "elevenlabs", URL: s.URL, Key: "k"}},
		AskAbove:  1e12, API: client, Web: client, Now: time.Now,
		Wait: func(context.Context, time.Duration) error { return nil },
	}); err != nil {
		t.Fatal(err)
	}
	r.Speak = []string{"sh", "-c", "printf 'RIFF....WAVE%s' \"$(cat)\""}
	speech := tool.Prepared(speak{r.studio})
	if _, err := r.call(speech, map[string]any{"text": "hello", "voice": "v", "model": "elevenlabs"}); err == nil {
		t.Error("another program has read the text")
	}
	text := r.must(speech, map[string]any{"text": "hello", "voice": "v"}).Text()
	if !strings.Contains(text, "speech by sh") || !strings.Contains(text, "did not answer") &&
		!strings.Contains(text, "has failed") {
		t.Errorf("%q", text)
	}
}

func TestFilled(t *testing.T) {
	values := map[string]string{"file": "/f.wav", "language": "", "voice": "anna"}
	argv := []string{"prog", "-l", "{language}", "--voice={voice}", "{file}"}
	if words, _ := filled(argv, values); strings.Join(words, " ") != "prog --voice=anna /f.wav" {
		t.Errorf("%q", words)
	}
	values["language"] = "de"
	if words, _ := filled(argv, values); strings.Join(words, " ") != "prog -l de --voice=anna /f.wav" {
		t.Errorf("%q", words)
	}
}

func TestFactsOfRecordings(t *testing.T) {
	needtest.Program(t, "ffprobe")
	r := newRoom(t)
	r.write("a.wav", silence())
	read := tool.Prepared(readAudio{r.studio})
	text := r.must(read, map[string]any{"path": "a.wav"}).Text()
	if !strings.Contains(text, "audio pcm_s16le 16 kHz 1 channel 256 kbit/s") ||
		!strings.Contains(text, "media.transcribe.command") {
		t.Errorf("%q", text)
	}
	r.make("a.mp3", "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "sine=d=2", "-metadata", "title=A\nsong", "-metadata",
		"encoder=x")
	text = r.must(read, map[string]any{"path": "a.mp3"}).Text()
	if !strings.Contains(text, "0:02") || !strings.Contains(text, "title: A song") ||
		strings.Contains(text, "encoder") {
		t.Errorf("%q", text)
	}
	r.write("no.mp3", []byte("ID3 but nothing else"))
	r.write("no.png", pngOf(t, 9, 9))
	for _, name := range []string{"no.mp3", "no.png"} {
		if _, err := r.call(read, map[string]any{"path": name}); err == nil || tool.AsError(err).Kind != tool.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestClock(t *testing.T) {
	for given, want := range map[string]time.Duration{
		"12.5": 12500 * time.Millisecond, "1:30": 90 * time.Second, " 1:02:03 ": 3723 * time.Second,
		"90s": 90 * time.Second,
	} {
		if got, err := parseClock(given); got != want || err != nil {
			t.Errorf("%q: %s, %v", given, got, err)
		}
	}
	for _, given := range []string{"", "x", "1:2:3:4", "-1", "NaN", "1e99"} {
		if _, err := parseClock(given); err == nil {
			t.Errorf("%q is a time", given)
		}
	}
	for d, want := range map[time.Duration]string{
		3723 * time.Second: "1:02:03", 7500 * time.Millisecond: "0:07.5", 7990 * time.Millisecond: "0:08",
		59970 * time.Millisecond: "1:00", 0: "0:00",
	} {
		if got := clock(d); got != want {
			t.Errorf("%s is %s, want %s", d, got, want)
		}
	}
	if got := spread(8 * time.Second); len(got) != sheetFrames || got[1] >= time.Second {
		t.Errorf("the frames of 8 seconds are at %v", got)
	}
}

func FuzzProbe(f *testing.F) {
	f.Add([]byte(`{"format":{"duration":"1e99","tags":{"title":"x"}},"streams":[{"codec_type":"video","avg_frame_rate":"0/0"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := readProbe(data)
		if err == nil && (got.duration < 0 || strings.Contains(strings.Join(got.tags, ""), "\n")) {
			t.Errorf("%+v", got)
		}
	})
}
