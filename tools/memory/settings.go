package memory

import (
	"embed"

	"github.com/mcp-tools/mcp-tools/internal/config"
)

// Settings are the settings of memories and of the search in them.
type Settings struct {
	Embeddings EmbeddingSettings `yaml:"embeddings"`
	Knowledge  KnowledgeSettings `yaml:"knowledge"`
}

// EmbeddingSettings name the endpoint that computes vectors of texts. Without a URL there is none.
type EmbeddingSettings struct {
	URL   string        `yaml:"url" form:"url"`
	Model string        `yaml:"model" form:"label"`
	Key   config.Secret `yaml:"key" form:"secret"`
}

// KnowledgeSettings name the model that fills the knowledge graph from memories. Without a model none does.
type KnowledgeSettings struct {
	Model  string `yaml:"model" form:"label"`
	Budget string `yaml:"budget" default:"500000 tokens" form:"budget"`
}

//go:embed settings.txt
var texts embed.FS

// SettingTexts returns the texts about the settings.
func (Settings) SettingTexts() string { return config.Texts(texts) }

// Check finds an endpoint without a model, and a model without an endpoint.
func (s Settings) Check(add config.Add) {
	if e := s.Embeddings; (e.URL == "") != (e.Model == "") {
		add("embeddings", "an endpoint and its model go together; set both url and model, or neither")
	}
}
