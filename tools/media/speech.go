package media

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/media/provider"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/wire"
)

// speak is the tool that reads texts aloud.
type speak struct{ studio }

type speakArgs struct {
	Text     string  `json:"text" jsonschema:"text to read aloud" alias:"input,message" maxlen:"40000"`
	Voice    string  `json:"voice,omitempty" jsonschema:"name of a voice"`
	Language string  `json:"language,omitempty" jsonschema:"code, such as de" alias:"lang"`
	Format   string  `json:"format,omitempty" jsonschema:"file format, default mp3" enum:"mp3,wav,opus" alias:"response_format,output_format"`
	Speed    float64 `json:"speed,omitempty" jsonschema:"speed of reading, default 1" alias:"rate"`
	Style    string  `json:"style,omitempty" hidden:"true" jsonschema:"how it is read, in words" alias:"instructions"`
	Title    string  `json:"title,omitempty" hidden:"true" jsonschema:"file name" alias:"filename,name"`
	Model    string  `json:"model,omitempty" hidden:"true" jsonschema:"PROVIDER/MODEL" alias:"provider"`
	Channel  string  `json:"channel,omitempty" hidden:"true" jsonschema:"ignored"`
}

const makeTimeout = 10 * time.Minute

func (speak) Spec() tool.Spec {
	return tool.Spec{
		Name: "tts", Group: groupMake, Title: "Text to speech", Risk: tool.Writes,
		Hints: tool.Hints{OpenWorld: true}, Timeout: makeTimeout, MaxText: 40_000,
		Doc:      `Reads a text aloud. Saves the sound in generated/DATE/.`,
		Also:     []string{"tts_speak", "tool::tts_speak", "text_to_speech", "speak"},
		Bare:     "text",
		Keywords: "speech voice say speak read aloud audio sound narrate voice message mp3 wav",
	}
}

func (a speakArgs) request() wire.SpeechRequest {
	return wire.SpeechRequest{
		To: wire.To{Model: a.Model}, Text: a.Text, Voice: a.Voice, Format: a.Format, Speed: a.Speed,
		Language: a.Language, Style: a.Style,
	}
}

func (t speak) Prepare(_ context.Context, a speakArgs) (tool.Plan, error) {
	if strings.TrimSpace(a.Text) == "" {
		return tool.Plan{}, tool.Errorf(tool.Invalid, `tts: "text" is empty`).Try(`send {"text":"Good morning"}`)
	}
	if a.Speed != 0 && (a.Speed < 0.25 || a.Speed > 4) {
		return tool.Plan{}, tool.Errorf(tool.Invalid, "speed is %g, it must be from 0.25 to 4", a.Speed).
			Try("leave it out for the normal speed")
	}
	a.Format = cmp.Or(a.Format, "mp3")
	plan := tool.Plan{Run: func(ctx context.Context) (tool.Result, error) { return t.speak(ctx, a) }}
	if t.Providers.Can(wire.Speech) {
		plan.Ask = t.Providers.Ask(a.request())
	}
	return plan, nil
}

// speak asks the providers, then the program of the operator, then espeak-ng. A refused text,
// and a text for a provider that the caller names, is not tried elsewhere.
func (t speak) speak(ctx context.Context, a speakArgs) (tool.Result, error) {
	var notes []string
	var sound []byte
	by := ""
	if t.Providers.Can(wire.Speech) {
		made, from, err := t.Providers.Speak(ctx, a.request())
		switch {
		case err == nil:
			sound, by, notes = made.Data, byline(from), from.Notes
		case a.Model != "", !t.speaksHere(),
			tool.AsError(err).Kind != tool.Unavailable && tool.AsError(err).Kind != tool.Timeout:
			return tool.Result{}, err
		default:
			notes = append(notes, tool.AsError(err).What)
		}
	}
	if sound == nil {
		var err error
		if sound, by, err = t.speakHere(ctx, a); err != nil {
			return tool.Result{}, err
		}
		if sound, err = t.encode(ctx, sound, a.Format); err != nil {
			return tool.Result{}, err
		}
	}
	title := cmp.Or(a.Title, strings.Join(strings.Fields(a.Text)[:min(8, len(strings.Fields(a.Text)))], " "))
	saved, err := t.Made.Save(ctx, title, bytes.NewReader(sound))
	if err != nil {
		return tool.Result{}, err
	}
	result := saved.Result(ctx, "speech by "+by)
	for _, note := range notes {
		result = result.Add(tool.Part{Text: "[" + note + "]"})
	}
	return result, nil
}

// byline names a provider, and its price.
func byline(by provider.By) string {
	if by.Cost > 0 {
		return fmt.Sprintf("%s for about %s", by.Model, by.Cost)
	}
	return by.Model
}

// speaksHere reports whether a program on this machine can read texts aloud.
func (s studio) speaksHere() bool { return len(s.Speak) > 0 || has("espeak-ng") }

// speakHere reads a text aloud with a program on this machine. by is the name of the
// program.
func (s studio) speakHere(ctx context.Context, a speakArgs) (sound []byte, by string, err error) {
	p := job{stdin: strings.NewReader(a.Text), time: makeTimeout}
	if len(s.Speak) > 0 {
		p.argv, p.files = filled(s.Speak, map[string]string{"language": a.Language, "voice": a.Voice})
	} else {
		if err := s.needs("espeak-ng", "espeak-ng"); err != nil {
			return nil, "", err
		}
		if p.argv, err = espeak(a); err != nil {
			return nil, "", err
		}
	}
	by = programName(p.argv[0])
	var out bytes.Buffer
	if err := s.run(ctx, &out, p); err != nil {
		if ctx.Err() != nil || errors.Is(err, errOutput) {
			return nil, "", explain("the text", err)
		}
		return nil, "", tool.Errorf(tool.Unavailable, "%s cannot read this text aloud", by).Because(err).
			Try("use another voice or language")
	}
	return withLength(out.Bytes()), by, nil
}

// wordsPerMinute is the normal speed of espeak-ng.
const wordsPerMinute = 165

// espeak returns the command line of espeak-ng.
func espeak(a speakArgs) ([]string, error) {
	voice := cmp.Or(a.Voice, a.Language, "en")
	letter := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '+'
	}
	if strings.TrimFunc(voice, letter) != "" || voice[0] == '-' || len(voice) > 40 {
		return nil, tool.Errorf(tool.Invalid, "there is no voice %q", voice).Try("use a language such as en, de or fr")
	}
	speed := wordsPerMinute
	if a.Speed > 0 {
		speed = int(a.Speed * wordsPerMinute)
	}
	return []string{"espeak-ng", "--stdin", "--stdout", "-b", "1", "-s", strconv.Itoa(speed), "-v", voice}, nil
}

// withLength corrects the lengths in a WAV file that was written to a pipe, where a
// program cannot know them.
func withLength(wav []byte) []byte {
	copy(wav, lengthened(wav[:min(len(wav), wavHead)], int64(len(wav))))
	return wav
}

// wavHead is the part of a WAV file with its lengths, in bytes.
const wavHead = 1 << 10

// lengthened returns the head of a WAV file with the lengths of a file of size bytes.
func lengthened(head []byte, size int64) []byte {
	data := bytes.Index(head, []byte("data"))
	if !bytes.HasPrefix(head, []byte("RIFF")) || data < 0 || data+8 > len(head) || size > math.MaxUint32 {
		return head
	}
	binary.LittleEndian.PutUint32(head[4:], uint32(size-8))
	binary.LittleEndian.PutUint32(head[data+4:], uint32(size-int64(data)-8))
	return head
}

// encode converts WAV to a smaller format, if ffmpeg is installed.
func (s studio) encode(ctx context.Context, wav []byte, format string) ([]byte, error) {
	if !bytes.HasPrefix(wav, []byte("RIFF")) || !has("ffmpeg") {
		return wav, nil
	}
	argv := []string{"ffmpeg", "-nostdin", "-v", "error", "-protocol_whitelist", "pipe", "-f", "wav", "-i", "pipe:0"}
	switch format {
	case "mp3":
		argv = append(argv, "-c:a", "libmp3lame", "-q:a", "4", "-f", "mp3", "pipe:1")
	case "opus":
		argv = append(argv, "-c:a", "libopus", "-b:a", "32k", "-f", "ogg", "pipe:1")
	default:
		return wav, nil
	}
	var out bytes.Buffer
	err := s.run(ctx, &out, job{argv: argv, stdin: bytes.NewReader(wav)})
	if err != nil && ctx.Err() == nil {
		return wav, nil // this ffmpeg has no such encoder
	}
	return out.Bytes(), err
}
