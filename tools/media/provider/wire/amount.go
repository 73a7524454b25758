package wire

import "unicode/utf8"

// What is not known of a request is assumed to be long.
const (
	unknownSeconds = 600 // of a recording
	longestSound   = 30
	usualMusic     = 180
	usualVideo     = 10
)

// amount returns how much of a unit there is.
func amount(u Unit, pictures int, seconds float64, text string) float64 {
	switch u {
	case Picture:
		return float64(pictures)
	case Second:
		return seconds
	case Minute:
		return seconds / 60
	case Thousand:
		return float64(utf8.RuneCountInString(text)) / 1000
	}
	return 1
}

// orElse returns n, or other if n is not positive.
func orElse(n, other float64) float64 {
	if n > 0 {
		return n
	}
	return other
}

// Task returns Photo.
func (PhotoRequest) Task() Task { return Photo }

// Amount counts the pictures.
func (r PhotoRequest) Amount(u Unit) float64 { return amount(u, max(r.Count, 1), 0, r.Prompt) }

// Task returns Speech.
func (SpeechRequest) Task() Task { return Speech }

// Amount counts the characters. A second of speech has about 15.
func (r SpeechRequest) Amount(u Unit) float64 {
	return amount(u, 0, float64(utf8.RuneCountInString(r.Text))/15, r.Text)
}

// Task returns Transcription.
func (TranscriptionRequest) Task() Task { return Transcription }

// Amount counts the length of the recording.
func (r TranscriptionRequest) Amount(u Unit) float64 {
	return amount(u, 0, orElse(float64(r.Seconds), unknownSeconds), r.Hint)
}

// Task returns Description.
func (DescriptionRequest) Task() Task { return Description }

// Amount counts the files.
func (r DescriptionRequest) Amount(u Unit) float64 {
	return amount(u, len(r.Files), unknownSeconds, r.Prompt)
}

// Task returns Sound.
func (SoundRequest) Task() Task { return Sound }

// Amount counts the length.
func (r SoundRequest) Amount(u Unit) float64 {
	return amount(u, 0, orElse(r.Seconds, longestSound), r.Prompt)
}

// Task returns Music.
func (MusicRequest) Task() Task { return Music }

// Amount counts the length.
func (r MusicRequest) Amount(u Unit) float64 {
	return amount(u, 0, orElse(float64(r.Seconds), usualMusic), r.Prompt)
}

// Task returns Video.
func (VideoRequest) Task() Task { return Video }

// Amount counts the length.
func (r VideoRequest) Amount(u Unit) float64 {
	return amount(u, 0, orElse(float64(r.Seconds), usualVideo), r.Prompt)
}
