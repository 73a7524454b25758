package provider_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/tools/media/provider"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/providertest"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/wire"
)

type object = map[string]any
type list = []any
type reply = providertest.Reply

const key = "key-of-the-provider"

// open returns one provider, which is a server, with the name of its kind.
func open(t *testing.T, s *providertest.Server, kind provider.Kind, path string,
	change ...func(*provider.Options)) *provider.Providers {
	t.Helper()
	client := providertest.Client(t, s)
	o := provider.Options{
		Endpoints: []provider.Endpoint{{Name: string(kind), Kind: kind, URL: s.URL + path, Key: key}},
		AskAbove:  1e12, API: client, Web: client,
		Now:  func() time.Time { return time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC) },
		Wait: func(context.Context, time.Duration) error { return nil },
	}
	if kind == "openai" { // a server at another address has no tasks by itself
		o.Endpoints[0].Prices = map[string]float64{}
		o.Chains = map[wire.Task][]string{}
		for _, row := range provider.Table() {
			o.Endpoints[0].Prices[row.Model] = row.Price
			if row.Kind == kind && row.Task != wire.Video {
				o.Chains[row.Task] = []string{"openai"}
			}
		}
	}
	for _, f := range change {
		f(&o)
	}
	p, err := provider.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// paths are those of the kinds' URLs.
var paths = map[provider.Kind]string{
	"openai": "/v1", "gemini": "/v1beta", "minimax": "/v1", "dashscope": "",
	"openrouter": "/api/v1", "fal": "", "elevenlabs": "/v1",
}

// keyHeader returns the header that has the key, and its value.
func keyHeader(k provider.Kind) (name, value string) {
	switch k {
	case "gemini":
		return "X-Goog-Api-Key", key
	case "elevenlabs":
		return "Xi-Api-Key", key
	case "fal":
		return "Authorization", "Key " + key
	}
	return "Authorization", "Bearer " + key
}

// content returns the body of a request: JSON, or the fields and files of a form.
func content(t *testing.T, r providertest.Request) any {
	t.Helper()
	if len(r.Body) == 0 {
		return nil
	}
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind == "multipart/form-data" {
		fields := object{}
		form := multipart.NewReader(bytes.NewReader(r.Body), params["boundary"])
		for {
			part, err := form.NextPart()
			if err == io.EOF {
				return fields
			}
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(part)
			if err != nil {
				t.Fatal(err)
			}
			fields[part.FormName()] = string(data)
			if part.FileName() != "" {
				fields[part.FormName()] = part.FileName() + " " + part.Header.Get("Content-Type") + " " + string(data)
			}
		}
	}
	var body any
	if json.Unmarshal(r.Body, &body) != nil {
		return string(r.Body)
	}
	return body
}

func b64(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

var (
	picture = wire.File{Name: "in.png", MIME: "image/png", Data: providertest.PNG()}
	sound   = wire.File{Name: "in.mp3", MIME: "audio/mpeg", Data: providertest.MP3()}
	dataURL = "data:image/png;base64," + b64(providertest.PNG())
)

// A want is a request that a provider must get.
type want struct {
	what string // method and path
	body any
}

// An exchange is what is asked of a provider, and what it must be sent.
type exchange struct {
	name    string
	kind    provider.Kind
	request wire.Request
	replies map[string][]reply
	want    []want
	made    string // the type and content of what is made, or the text
}

func exchanges() []exchange {
	png, mp3, mp4 := "image/png "+string(providertest.PNG()), "audio/mpeg "+string(providertest.MP3()),
		"video/mp4 "+string(providertest.MP4())
	wav := "audio/wav " + string(wire.WAV([]byte{1, 2, 3, 4}, 24000).Data)
	file := func(data []byte) []reply { return []reply{{Body: data}} }
	return []exchange{
		{
			"picture", "openai",
			wire.PhotoRequest{Prompt: "a fox", Aspect: "16:9", Size: "2K", Quality: "high", Format: "webp",
				Background: "opaque"},
			map[string][]reply{"POST /v1/images/generations": {{Body: object{"data": list{object{"b64_json": b64(providertest.PNG())}}}}}},
			[]want{{"POST /v1/images/generations", object{
				"model": "gpt-image-2.6-flare", "prompt": "a fox", "n": 1.0, "size": "2736x1536", "quality": "high",
				"background": "opaque", "output_format": "webp",
			}}}, png,
		},
		{
			"picture of a picture", "openai",
			wire.PhotoRequest{Prompt: "in winter", Pictures: []wire.File{picture}, Count: 2},
			map[string][]reply{
				"POST /v1/images/edits": {{Body: object{"data": list{object{"url": "{{url}}/result"}}}}},
				"GET /result":           file(providertest.PNG()),
			},
			[]want{{"POST /v1/images/edits", object{
				"model": "gpt-image-2.6-flare", "prompt": "in winter", "n": "2", "size": "auto", "output_format": "png",
				"image[]": "in.png image/png " + string(providertest.PNG()),
			}}, {"GET /result", nil}}, png,
		},
		{
			"picture of an old model", "openai",
			wire.PhotoRequest{To: wire.To{Model: "openai/gpt-image-1.5"}, Prompt: "a fox", Aspect: "9:16"},
			map[string][]reply{"POST /v1/images/generations": {{Body: object{"data": list{object{"b64_json": b64(providertest.PNG())}}}}}},
			[]want{{"POST /v1/images/generations", object{
				"model": "gpt-image-1.5", "prompt": "a fox", "n": 1.0, "size": "1024x1536", "output_format": "png",
			}}}, png,
		},
		{
			"speech", "openai",
			wire.SpeechRequest{Text: "hello", Speed: 1.5, Style: "slowly", Format: "opus", Voice: "nova"},
			map[string][]reply{"POST /v1/audio/speech": file(providertest.MP3())},
			[]want{{"POST /v1/audio/speech", object{
				"model": "gpt-4o-mini-tts", "input": "hello", "voice": "nova", "response_format": "opus", "speed": 1.5,
				"instructions": "slowly",
			}}}, mp3,
		},
		{
			"transcription", "openai", wire.TranscriptionRequest{Audio: sound, Language: "de", Hint: "Fuchs"},
			map[string][]reply{"POST /v1/audio/transcriptions": {{Body: object{"text": "ein Fuchs"}}}},
			[]want{{"POST /v1/audio/transcriptions", object{
				"model": "gpt-transcribe", "prompt": "Fuchs", "file": "in.mp3 audio/mpeg " + string(providertest.MP3()),
				"languages": "de",
			}}}, "ein Fuchs",
		},
		{
			"description", "openai", wire.DescriptionRequest{Prompt: "what?", Files: []wire.File{picture},
				MaxTokens: 9},
			map[string][]reply{"POST /v1/chat/completions": {{Body: object{
				"choices": list{object{"message": object{"content": "a fox"}, "finish_reason": "stop"}},
			}}}},
			[]want{{"POST /v1/chat/completions", object{
				"model": "gpt-6.1-terra", "max_completion_tokens": 9.0,
				"messages": list{object{"role": "user", "content": list{
					object{"type": "text", "text": "what?"},
					object{"type": "image_url", "image_url": object{"url": dataURL}},
				}}},
			}}}, "a fox",
		},
		{
			"picture", "gemini",
			wire.PhotoRequest{Prompt: "a fox", Aspect: "21:9", Size: "4k", Pictures: []wire.File{picture}},
			map[string][]reply{"POST /v1beta/models/gemini-3.1-flash-image:generateContent": {{Body: object{
				"candidates": list{object{"content": object{"parts": list{
					object{"text": "Here it is."},
					object{"inlineData": object{"mimeType": "image/png", "data": b64(providertest.PNG())}},
				}}, "finishReason": "STOP"}},
			}}}},
			[]want{{"POST /v1beta/models/gemini-3.1-flash-image:generateContent", object{
				"contents": list{object{"role": "user", "parts": list{
					object{"inlineData": object{"mimeType": "image/png", "data": b64(providertest.PNG())}},
					object{"text": "a fox"},
				}}},
				"generationConfig": object{
					"responseModalities": list{"IMAGE"},
					"imageConfig":        object{"aspectRatio": "21:9", "imageSize": "4K"},
				},
			}}}, png,
		},
		{
			"speech", "gemini", wire.SpeechRequest{Text: "hello", Style: "Read slowly"},
			map[string][]reply{"POST /v1beta/models/gemini-3.8-flash-tts:generateContent": {{Body: object{
				"candidates": list{object{"content": object{"parts": list{object{"inlineData": object{
					"mimeType": "audio/L16;codec=pcm;rate=24000", "data": b64([]byte{1, 2, 3, 4}),
				}}}}}},
			}}}},
			[]want{{"POST /v1beta/models/gemini-3.8-flash-tts:generateContent", object{
				"contents": list{object{"role": "user", "parts": list{object{"text": "Read slowly:\nhello"}}}},
				"generationConfig": object{"responseModalities": list{"AUDIO"}, "speechConfig": object{
					"voiceConfig": object{"prebuiltVoiceConfig": object{"voiceName": "Kore"}},
				}},
			}}}, wav,
		},
		{
			"description", "gemini", wire.DescriptionRequest{Prompt: "what?", Files: []wire.File{sound},
				MaxTokens: 9},
			map[string][]reply{"POST /v1beta/models/gemini-3.8-flash:generateContent": {{Body: object{
				"candidates": list{object{"content": object{"parts": list{object{"text": "a "},
					object{"text": "fox"}}}}},
			}}}},
			[]want{{"POST /v1beta/models/gemini-3.8-flash:generateContent", object{
				"contents": list{object{"role": "user", "parts": list{
					object{"inlineData": object{"mimeType": "audio/mpeg", "data": b64(providertest.MP3())}},
					object{"text": "what?"},
				}}},
				"generationConfig": object{"maxOutputTokens": 9.0},
			}}}, "a fox",
		},
		{
			"video", "gemini", wire.VideoRequest{Prompt: "a fox", Seconds: 20, Aspect: "9:16",
				Picture: &picture},
			map[string][]reply{
				"POST /v1beta/interactions": {{Body: object{"id": "i1", "status": "in_progress"}}},
				"GET /v1beta/interactions/i1": {{Body: object{"id": "i1", "status": "in_progress"}},
					{Body: object{"id": "i1", "status": "completed",
						"output_video": object{"uri": "{{url}}/v1beta/files/f:download?alt=media"}}}},
				"GET /v1beta/files/f:download": file(providertest.MP4()),
			},
			[]want{
				{"POST /v1beta/interactions", object{"model": "gemini-omni-1.2-flash", "input": list{
					object{"type": "image", "data": b64(providertest.PNG()), "mime_type": "image/png"},
					object{"type": "text", "text": "a fox\nLength: 10 seconds.\nAspect ratio: 9:16."},
				}}},
				{"GET /v1beta/interactions/i1", nil},
				{"GET /v1beta/interactions/i1", nil},
				{"GET /v1beta/files/f:download?alt=media", nil},
			}, mp4,
		},
		{
			"video at once", "gemini", wire.VideoRequest{Prompt: "a fox"},
			map[string][]reply{"POST /v1beta/interactions": {{Body: object{"status": "completed",
				"output_video": object{
					"data": b64(providertest.MP4()), "mime_type": "video/mp4",
				}}}}},
			[]want{{"POST /v1beta/interactions", object{"model": "gemini-omni-1.2-flash", "input": list{
				object{"type": "text", "text": "a fox"},
			}}}}, mp4,
		},
		{
			"picture", "minimax", wire.PhotoRequest{Prompt: "a fox", Aspect: "16:9", Count: 12,
				Pictures: []wire.File{picture}},
			map[string][]reply{"POST /v1/image_generation": {{Body: object{
				"data":      object{"image_base64": list{b64(providertest.PNG())}},
				"base_resp": object{"status_code": 0.0, "status_msg": "success"},
			}}}},
			[]want{{"POST /v1/image_generation", object{
				"model": "image-01", "prompt": "a fox", "n": 9.0, "response_format": "base64", "aspect_ratio": "16:9",
				"subject_reference": list{object{"type": "character", "image_file": dataURL}},
			}}}, png,
		},
		{
			"speech", "minimax", wire.SpeechRequest{Text: "hello", Speed: 0.5},
			map[string][]reply{"POST /v1/t2a_v2": {{Body: object{
				"data":      object{"audio": hex.EncodeToString(providertest.MP3())},
				"base_resp": object{"status_code": 0.0},
			}}}},
			[]want{{"POST /v1/t2a_v2", object{
				"model": "speech-2.8-hd", "text": "hello", "stream": false, "audio_setting": object{"format": "mp3"},
				"voice_setting": object{"voice_id": "English_expressive_narrator", "speed": 0.5},
			}}}, mp3,
		},
		{
			"music", "minimax", wire.MusicRequest{Prompt: "jazz", Lyrics: "[Verse] la"},
			map[string][]reply{
				"POST /v1/music_generation": {{Body: object{"data": object{"audio": "{{url}}/song"},
					"base_resp": object{"status_code": 0.0}}}},
				"GET /song": file(providertest.MP3()),
			},
			[]want{{"POST /v1/music_generation", object{
				"model": "music-2.6", "prompt": "jazz", "lyrics": "[Verse] la", "is_instrumental": false,
				"output_format": "url",
				"audio_setting": object{"sample_rate": 44100.0, "bitrate": 256000.0, "format": "mp3"},
			}}, {"GET /song", nil}}, mp3,
		},
		{
			"video", "minimax", wire.VideoRequest{Prompt: "a fox", Seconds: 8, Picture: &picture},
			map[string][]reply{
				"POST /v1/video_generation": {{Body: object{"task_id": "t1",
					"base_resp": object{"status_code": 0.0}}}},
				"GET /v1/query/video_generation": {{Body: object{"status": "Processing"}},
					{Body: object{"status": "Success", "file_id": "f1"}}},
				"GET /v1/files/retrieve": {{Body: object{"file": object{"download_url": "{{url}}/film"}}}},
				"GET /film":              file(providertest.MP4()),
			},
			[]want{
				{"POST /v1/video_generation", object{
					"model": "MiniMax-Hailuo-2.3", "prompt": "a fox", "duration": 10.0, "resolution": "768P",
					"first_frame_image": dataURL,
				}},
				{"GET /v1/query/video_generation?task_id=t1", nil}, {"GET /v1/query/video_generation?task_id=t1", nil},
				{"GET /v1/files/retrieve?file_id=f1", nil}, {"GET /film", nil},
			}, mp4,
		},
		{
			"picture", "dashscope", wire.PhotoRequest{Prompt: "in winter", Aspect: "1:1",
				Pictures: []wire.File{picture}},
			map[string][]reply{
				"POST /api/v1/services/aigc/multimodal-generation/generation": {{Body: object{"output": object{
					"choices": list{object{"message": object{"content": list{object{"image": "{{url}}/p"}}}}},
				}}}},
				"GET /p": file(providertest.PNG()),
			},
			[]want{{"POST /api/v1/services/aigc/multimodal-generation/generation", object{
				"model": "wan2.6-image", "input": object{"messages": list{object{"role": "user", "content": list{
					object{"text": "in winter"}, object{"image": dataURL},
				}}}},
				"parameters": object{"n": 1.0, "size": "1328*1328", "prompt_extend": true, "watermark": false},
			}}, {"GET /p", nil}}, png,
		},
		{
			"description", "dashscope", wire.DescriptionRequest{Prompt: "what?", MaxTokens: 9},
			map[string][]reply{"POST /compatible-mode/v1/chat/completions": {{Body: object{
				"choices": list{object{"message": object{"content": "a fox"}}},
			}}}},
			[]want{{"POST /compatible-mode/v1/chat/completions", object{
				"model": "qwen3-vl-plus", "max_tokens": 9.0, "messages": list{object{"role": "user", "content": list{
					object{"type": "text", "text": "what?"},
				}}},
			}}}, "a fox",
		},
		{
			"video", "dashscope", wire.VideoRequest{Prompt: "a fox", Seconds: 1, Aspect: "9:16",
				Resolution: "1080p"},
			map[string][]reply{
				"POST /api/v1/services/aigc/video-generation/video-synthesis": {{Body: object{"output": object{"task_id": "t1", "task_status": "PENDING"}}}},
				"GET /api/v1/tasks/t1": {{Body: object{"output": object{"task_status": "RUNNING"}}},
					{Body: object{"output": object{"task_status": "SUCCEEDED", "video_url": "{{url}}/v"}}}},
				"GET /v": file(providertest.MP4()),
			},
			[]want{
				{"POST /api/v1/services/aigc/video-generation/video-synthesis", object{
					"model": "wan2.7-t2v", "input": object{"prompt": "a fox"},
					"parameters": object{"resolution": "1080P", "duration": 2.0, "ratio": "9:16", "prompt_extend": true,
						"watermark": false},
				}},
				{"GET /api/v1/tasks/t1", nil}, {"GET /api/v1/tasks/t1", nil}, {"GET /v", nil},
			}, mp4,
		},
		{
			"video of a picture", "dashscope", wire.VideoRequest{Prompt: "a fox", Picture: &picture},
			map[string][]reply{
				"POST /api/v1/services/aigc/video-generation/video-synthesis": {{Body: object{"output": object{"task_id": "t1"}}}},
				"GET /api/v1/tasks/t1": {{Body: object{"output": object{"task_status": "SUCCEEDED",
					"video_url": "{{url}}/v"}}}},
				"GET /v": file(providertest.MP4()),
			},
			[]want{
				{"POST /api/v1/services/aigc/video-generation/video-synthesis", object{
					"model": "wan2.7-i2v", "input": object{"prompt": "a fox",
						"media": list{object{"type": "first_frame", "url": dataURL}}},
					"parameters": object{"resolution": "720P", "prompt_extend": true, "watermark": false},
				}},
				{"GET /api/v1/tasks/t1", nil}, {"GET /v", nil},
			}, mp4,
		},
		{
			"picture", "openrouter", wire.PhotoRequest{Prompt: "a fox", Aspect: "16:9", Size: "2K",
				Pictures: []wire.File{picture}},
			map[string][]reply{"POST /api/v1/images": {{Body: object{"data": list{object{"b64_json": b64(providertest.PNG())}}}}}},
			[]want{{"POST /api/v1/images", object{
				"model": "google/gemini-3.1-flash-image", "prompt": "a fox", "n": 1.0, "aspect_ratio": "16:9",
				"resolution":       "2K",
				"input_references": list{object{"type": "image_url", "image_url": object{"url": dataURL}}},
			}}}, png,
		},
		{
			"transcription", "openrouter", wire.TranscriptionRequest{Audio: sound, Language: "de"},
			map[string][]reply{"POST /api/v1/audio/transcriptions": {{Body: object{"text": "ein Fuchs"}}}},
			[]want{{"POST /api/v1/audio/transcriptions", object{
				"model": "openai/gpt-transcribe", "language": "de",
				"input_audio": object{"data": b64(providertest.MP3()), "format": "mp3"},
			}}}, "ein Fuchs",
		},
		{
			"description of sound", "openrouter",
			wire.DescriptionRequest{Prompt: "what?", Files: []wire.File{sound}},
			map[string][]reply{"POST /api/v1/chat/completions": {{Body: object{
				"choices": list{object{"message": object{"content": "a fox"}}},
			}}}},
			[]want{{"POST /api/v1/chat/completions", object{
				"model": "google/gemini-3.8-flash", "messages": list{object{"role": "user", "content": list{
					object{"type": "text", "text": "what?"},
					object{"type": "input_audio", "input_audio": object{"data": b64(providertest.MP3()),
						"format": "mp3"}},
				}}},
			}}}, "a fox",
		},
		{
			"video", "openrouter", wire.VideoRequest{Prompt: "a fox", Seconds: 8, Aspect: "9:16",
				Picture: &picture},
			map[string][]reply{
				"POST /api/v1/videos": {{Status: 202,
					Body: object{"id": "v1", "polling_url": "/api/v1/videos/v1", "status": "pending"}}},
				"GET /api/v1/videos/v1": {{Body: object{"id": "v1", "status": "in_progress"}},
					{Body: object{"id": "v1", "status": "completed"}}},
				"GET /api/v1/videos/v1/content": file(providertest.MP4()),
			},
			[]want{
				{"POST /api/v1/videos", object{
					"model": "alibaba/wan-2.7", "prompt": "a fox", "duration": 8.0, "resolution": "720p",
					"aspect_ratio": "9:16",
					"frame_images": list{object{"type": "image_url", "image_url": object{"url": dataURL},
						"frame_type": "first_frame"}},
				}},
				{"GET /api/v1/videos/v1", nil}, {"GET /api/v1/videos/v1", nil},
				{"GET /api/v1/videos/v1/content?index=0", nil},
			}, mp4,
		},
		{
			"picture", "fal", wire.PhotoRequest{Prompt: "a fox", Size: "640x480"},
			falReplies("fal-ai/flux/schnell", object{"images": list{object{"url": "{{url}}/p"}}}, "GET /p",
				providertest.PNG()),
			falWants("fal-ai/flux/schnell", object{
				"prompt": "a fox", "num_images": 1.0, "image_size": object{"width": 640.0, "height": 480.0},
			}, "GET /p"), png,
		},
		{
			"video", "fal", wire.VideoRequest{Prompt: "a fox", Seconds: 6, Picture: &picture},
			falReplies("fal-ai/minimax/hailuo-2.3/standard/image-to-video", object{"video": object{"url": "{{url}}/v"}},
				"GET /v",
				providertest.MP4()),
			falWants("fal-ai/minimax/hailuo-2.3/standard/image-to-video", object{
				"prompt": "a fox", "duration": 6.0, "image_url": dataURL,
			}, "GET /v"), mp4,
		},
		{
			"sound", "fal", wire.SoundRequest{Prompt: "rain", Seconds: 2.5, Loop: true},
			falReplies("fal-ai/elevenlabs/sound-effects/v2", object{"audio": object{"url": "{{url}}/s"}}, "GET /s",
				providertest.MP3()),
			falWants("fal-ai/elevenlabs/sound-effects/v2", object{
				"text": "rain", "duration_seconds": 2.5, "loop": true,
			}, "GET /s"), mp3,
		},
		{
			"music", "fal", wire.MusicRequest{Prompt: "jazz", Seconds: 30, Instrumental: true},
			falReplies("fal-ai/elevenlabs/music", object{"audio_file": object{"url": "{{url}}/s"}}, "GET /s",
				providertest.MP3()),
			falWants("fal-ai/elevenlabs/music", object{
				"prompt": "jazz", "music_length_ms": 30000.0, "force_instrumental": true,
			}, "GET /s"), mp3,
		},
		{
			"speech", "elevenlabs", wire.SpeechRequest{Text: "hello", Voice: "v 1", Speed: 3, Language: "de"},
			map[string][]reply{"POST /v1/text-to-speech/v%201": file(providertest.MP3())},
			[]want{{"POST /v1/text-to-speech/v%201?output_format=mp3_44100_128", object{
				"text": "hello", "model_id": "eleven_v3", "language_code": "de", "voice_settings": object{"speed": 1.2},
			}}}, mp3,
		},
		{
			"speech without compression", "elevenlabs", wire.SpeechRequest{Text: "hello", Format: "wav"},
			map[string][]reply{"POST /v1/text-to-speech/JBFqnCBsd6RMkjVDRZzb": file([]byte{1, 2, 3, 4})},
			[]want{{"POST /v1/text-to-speech/JBFqnCBsd6RMkjVDRZzb?output_format=pcm_24000", object{
				"text": "hello", "model_id": "eleven_v3",
			}}}, wav,
		},
		{
			"transcription", "elevenlabs", wire.TranscriptionRequest{Audio: sound, Language: "en",
				Speakers: true},
			map[string][]reply{"POST /v1/speech-to-text": {{Body: object{"text": "a fox? yes", "language_code": "en",
				"words": list{
					object{"text": "a", "start": 0.5, "end": 0.6, "speaker_id": "s0"},
					object{"text": " fox?", "start": 0.6, "end": 1.0, "speaker_id": "s0"},
					object{"text": "yes", "start": 1.5, "end": 2.0, "speaker_id": "s1"},
				}}}}},
			[]want{{"POST /v1/speech-to-text", object{
				"model_id": "scribe_v2", "language_code": "en", "diarize": "true", "timestamps_granularity": "word",
				"file": "in.mp3 audio/mpeg " + string(providertest.MP3()),
			}}}, "a fox? yes 500ms-1s s0 a fox? 1.5s-2s s1 yes",
		},
		{
			"sound", "elevenlabs", wire.SoundRequest{Prompt: "rain", Seconds: 40, Loop: true},
			map[string][]reply{"POST /v1/sound-generation": file(providertest.MP3())},
			[]want{{"POST /v1/sound-generation?output_format=mp3_44100_128", object{
				"text": "rain", "prompt_influence": 0.3, "model_id": "eleven_text_to_sound_v2",
				"duration_seconds": 30.0,
				"loop":             true,
			}}}, mp3,
		},
		{
			"music", "elevenlabs", wire.MusicRequest{Prompt: "jazz", Lyrics: "la", Seconds: 1,
				Instrumental: true},
			map[string][]reply{"POST /v1/music": file(providertest.MP3())},
			[]want{{"POST /v1/music?output_format=mp3_44100_128", object{
				"prompt": "jazz\n\nLyrics:\nla", "model_id": "music_v1", "music_length_ms": 3000.0,
				"force_instrumental": true,
			}}}, mp3,
		},
	}
}

func falReplies(app string, result object, link string, data []byte) map[string][]reply {
	at := "/" + app + "/requests/r1"
	return map[string][]reply{
		"POST /" + app: {{Body: object{
			"request_id": "r1", "status_url": "{{url}}" + at + "/status", "response_url": "{{url}}" + at,
			"cancel_url": "{{url}}" + at + "/cancel",
		}}},
		"GET " + at + "/status": {{Status: 202, Body: object{"status": "IN_QUEUE", "queue_position": 1}},
			{Status: 202, Body: object{"status": "IN_PROGRESS"}}, {Body: object{"status": "COMPLETED"}}},
		"GET " + at: {{Body: result}},
		link:        {{Body: data}},
	}
}

func falWants(app string, body object, link string) []want {
	at := "/" + app + "/requests/r1"
	return []want{
		{"POST /" + app, body}, {"GET " + at + "/status", nil}, {"GET " + at + "/status", nil},
		{"GET " + at + "/status", nil}, {"GET " + at, nil}, {link, nil},
	}
}

// do sends a request to the providers, and returns what is made as text.
func do(ctx context.Context, p *provider.Providers, request wire.Request) (made string, by provider.By, err error) {
	var files []wire.File
	switch r := request.(type) {
	case wire.PhotoRequest:
		files, by, err = p.Photo(ctx, r)
	case wire.SpeechRequest:
		var file wire.File
		if file, by, err = p.Speak(ctx, r); err == nil {
			files = []wire.File{file}
		}
	case wire.TranscriptionRequest:
		var text wire.Transcript
		text, by, err = p.Transcribe(ctx, r)
		made = text.Text
		for _, s := range text.Segments {
			made += fmt.Sprintf(" %s-%s %s %s", s.Start, s.End, s.Speaker, s.Text)
		}
	case wire.DescriptionRequest:
		made, by, err = p.Describe(ctx, r)
	default:
		files, by, err = order(ctx, p, request)
	}
	for _, f := range files {
		made += f.MIME + " " + string(f.Data)
	}
	return made, by, err
}

// order orders something and waits for it.
func order(ctx context.Context, p *provider.Providers, r wire.Request) ([]wire.File, provider.By, error) {
	var o provider.Order
	made, err := p.Submit(ctx, r, &o, func() error { return nil })
	for err == nil && !made.Ended {
		made, err = p.Check(ctx, r.Task(), &o)
	}
	if err != nil {
		return nil, o.By, err
	}
	files, err := p.Fetch(ctx, r.Task(), &o, made)
	return files, o.By, err
}

// TestWireFormats compares each field that each provider is sent with what its
// documentation says.
func TestWireFormats(t *testing.T) {
	for _, x := range exchanges() {
		t.Run(string(x.kind)+"/"+x.name, func(t *testing.T) {
			s := providertest.New(t)
			for what, replies := range x.replies {
				s.On(what, replies...)
			}
			p := open(t, s, x.kind, paths[x.kind])
			made, by, err := do(t.Context(), p, x.request)
			if err != nil {
				t.Fatal(err)
			}
			if made != x.made {
				t.Errorf("it made %q, not %q", made, x.made)
			}
			if !strings.HasPrefix(by.Model, string(x.kind)+"/") || by.Cost == 0 {
				t.Errorf("made by %+v", by)
			}
			var got []want
			for _, r := range s.Got() {
				got = append(got, want{r.Method + " " + r.Path, content(t, r)})
				name, value := keyHeader(x.kind)
				if r.Header.Get(name) != value {
					t.Errorf("%s has the key %q", r.Path, r.Header.Get(name))
				}
				if strings.Contains(r.Path, key) {
					t.Errorf("the key is in the URL %s", r.Path)
				}
			}
			if diff := cmp.Diff(x.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}
