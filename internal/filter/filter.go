// Package filter defines what a list returns. It describes the fields that lists can filter and
// sort by, compiles list requests, and evaluates the compiled plan on decoded records: Plan.Match
// decides which records are in a list and Plan.Compare orders them.
//
// The package is pure. It does not know how records are stored or indexed. Package index answers
// lists faster and must return what Match and Compare define.
package filter
