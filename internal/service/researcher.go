package service

import (
	"log/slog"
	"os"
	"time"

	"prospector/internal/research/offline"
	"prospector/internal/research/openai"
	"prospector/internal/tam"
)

// The values of research.provider.
const (
	catalogProvider = "catalog"
	openAIProvider  = "openai"
)

// researcher returns what answers questions about companies, or nil if the settings are incomplete.
func (c *Config) researcher(log *slog.Logger, now func() time.Time) tam.Researcher {
	r := c.Research
	switch {
	case r.Provider == catalogProvider:
		return offline.Fields{}
	case r.Provider == openAIProvider && c.missingForResearch() == "":
		return openai.New(openai.Options{
			BaseURL: r.BaseURL, Model: r.Model, APIKey: os.Getenv(r.APIKeyEnv), Timeout: r.Timeout, Log: log, Now: now,
		})
	}
	return nil
}

// missingForResearch returns the setting that research needs but is empty, if there is one.
func (c *Config) missingForResearch() string {
	switch r := c.Research; {
	case r.Provider != openAIProvider:
		return ""
	case r.BaseURL == "":
		return "research.base_url"
	case r.Model == "":
		return "research.model"
	}
	return ""
}
