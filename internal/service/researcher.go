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

// researcher is who answers questions about companies; nil when the settings do not say where to ask.
func (c *Config) researcher(log *slog.Logger, now func() time.Time) tam.Researcher {
	r := c.Research
	switch {
	case r.Provider == catalogProvider:
		return offline.New()
	case r.Provider == openAIProvider && c.missingForResearch() == "":
		return openai.New(openai.Options{
			BaseURL: r.BaseURL, Model: r.Model, APIKey: os.Getenv(r.APIKeyEnv), Timeout: r.Timeout, Log: log, Now: now,
		})
	}
	return nil
}

// missingForResearch is the setting without which nobody can be asked; empty when there is none.
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
