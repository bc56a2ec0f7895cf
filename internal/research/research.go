// Package research is who answers the questions of Qualifiers: the catalogue itself, offline, or a language model behind an
// endpoint that speaks the protocol of chat completions. It knows companies and questions, and nothing of Previews.
package research
