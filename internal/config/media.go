package config

// Media has the settings of documents, pictures, sound and video.
type Media struct {
	Transcribe MediaCommand `yaml:"transcribe"`
	Speech     MediaCommand `yaml:"speech"`
	Languages  []string     `yaml:"languages" form:"ocr" default:"eng"`
}

// A MediaCommand is a program that works on sound.
type MediaCommand struct {
	Command []string `yaml:"command" form:"command"`
}
