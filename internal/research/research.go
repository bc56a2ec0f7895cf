// Package research defines what a research provider is asked about a company and what it answers,
// and validates the answers. The providers are in internal/research/offline and
// internal/research/openai. The package does not know Previews, nor how answers are used.
package research
