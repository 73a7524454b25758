// Package elevenlabs speaks the API of ElevenLabs for speech, transcripts, sound and music. It knows no model.
// Begin with [API].
package elevenlabs

import (
	"cmp"
	"context"
	"net/url"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/api"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/wire"
)

// URL is the address of ElevenLabs.
const URL = "https://api.elevenlabs.io/v1"

const (
	voice   = "JBFqnCBsd6RMkjVDRZzb"
	mp3     = "mp3_44100_128"
	pcmRate = 24000
)

// Provider is the kind elevenlabs.
func Provider() wire.Provider {
	return wire.Provider{Kind: "elevenlabs", URL: URL, Attach: api.Header("xi-api-key", ""), Open: func(c *wire.Client) any { return API{c} }}
}

// An API is the API of ElevenLabs.
type API struct{ *wire.Client }

// Ignores returns the arguments of a request for speech that the API does not have.
func (API) Ignores(r wire.SpeechRequest) (names []string) {
	if r.Style != "" {
		names = append(names, "style")
	}
	return names
}

// Speak reads a text aloud.
func (a API) Speak(ctx context.Context, r wire.SpeechRequest) (wire.File, error) {
	format := map[string]string{"wav": "pcm_24000", "opus": "opus_48000_64"}[r.Format]
	body := map[string]any{"text": r.Text, "model_id": r.Model}
	if r.Language != "" {
		body["language_code"] = r.Language
	}
	if r.Speed > 0 {
		body["voice_settings"] = map[string]float64{"speed": min(max(r.Speed, 0.7), 1.2)}
	}
	file, err := a.File(ctx, wire.Call{
		Path:  "text-to-speech/" + url.PathEscape(cmp.Or(r.Voice, r.Params["voice"], voice)),
		Query: url.Values{"output_format": {cmp.Or(format, mp3)}}, Body: body,
		Sound: r.Format == "wav",
	})
	if err == nil && r.Format == "wav" {
		file = wire.WAV(file.Data, pcmRate)
	}
	return file, err
}

// Transcribe returns the words of a recording, with times and speakers.
func (a API) Transcribe(ctx context.Context, r wire.TranscriptionRequest) (t wire.Transcript, err error) {
	form := outbound.NewForm()
	form.Set("model_id", r.Model)
	form.Set("language_code", r.Language)
	if r.Speakers {
		form.Set("diarize", "true")
		form.Set("timestamps_granularity", "word")
	}
	r.Audio.AddTo(form, "file")
	var answer struct {
		Text     *string `json:"text"`
		Language string  `json:"language_code"`
		Words    []struct {
			Text    string  `json:"text"`
			Start   float64 `json:"start"`
			End     float64 `json:"end"`
			Speaker string  `json:"speaker_id"`
		} `json:"words"`
	}
	if err := a.JSON(ctx, wire.Call{Path: "speech-to-text", Body: form}, &answer); err != nil {
		return t, err
	}
	if answer.Text == nil {
		return t, a.Fail(0, "", "the response has no text")
	}
	t.Text, t.Language = *answer.Text, answer.Language
	if !r.Speakers {
		return t, nil
	}
	for _, word := range answer.Words {
		end := seconds(word.End)
		if n := len(t.Segments); n > 0 && t.Segments[n-1].Speaker == word.Speaker {
			t.Segments[n-1].Text += word.Text
			t.Segments[n-1].End = end
			continue
		}
		t.Segments = append(t.Segments, wire.Segment{
			Start: seconds(word.Start), End: end, Speaker: word.Speaker, Text: word.Text,
		})
	}
	return t, nil
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// Sound makes a sound effect.
func (a API) Sound(ctx context.Context, r wire.SoundRequest) (wire.Made, error) {
	body := map[string]any{"text": r.Prompt, "prompt_influence": 0.3, "model_id": r.Model}
	if r.Seconds > 0 {
		body["duration_seconds"] = min(max(r.Seconds, 0.5), 30)
	}
	if r.Loop {
		body["loop"] = true
	}
	return a.make(ctx, "sound-generation", body)
}

// Music makes music.
func (a API) Music(ctx context.Context, r wire.MusicRequest) (wire.Made, error) {
	prompt := r.Prompt
	if r.Lyrics != "" {
		prompt += "\n\nLyrics:\n" + r.Lyrics
	}
	body := map[string]any{"prompt": prompt, "model_id": r.Model}
	if r.Seconds > 0 {
		body["music_length_ms"] = min(max(r.Seconds, 3), 600) * 1000
	}
	if r.Instrumental {
		body["force_instrumental"] = true
	}
	return a.make(ctx, "music", body)
}

func (a API) make(ctx context.Context, path string, body any) (wire.Made, error) {
	file, err := a.File(ctx, wire.Call{Path: path, Query: url.Values{"output_format": {mp3}}, Body: body, Once: true})
	return wire.Made{Files: []wire.File{file}, Ended: true}, err
}
