package control

import (
	"context"
	"net/http"
	"net/url"

	"curtsy/storage/ledger"
)

// What a Change may be about, by the name of the setting. SetOptOuts reads the opt-out lists again.
const (
	SetMaxPages     = ledger.ActMaxPages
	SetMaxPerHost   = ledger.ActMaxPerHost
	SetMaxPerDomain = ledger.ActMaxPerDomain
	SetMaxPerTag    = ledger.ActMaxPerTag
	SetMaxBytes     = ledger.ActMaxBytes
	SetMaxTime      = ledger.ActMaxTime
	SetStopWhen     = ledger.ActStopWhen
	SetWindow       = ledger.ActWindow
	SetInclude      = ledger.ActInclude
	SetExclude      = ledger.ActExclude
	SetDelay        = ledger.ActDelay
	SetOptOuts      = ledger.ActOptOuts
)

// Budgets are the settings that end a crawl, or bound its parts and its hours.
func Budgets() []string {
	return []string{SetMaxPages, SetMaxPerHost, SetMaxPerDomain, SetMaxPerTag, SetMaxBytes, SetMaxTime, SetStopWhen, SetWindow}
}

// Change is what an operator wants of a setting, for good: a run that follows keeps it.
type Change struct {
	Setting string `json:"setting"`
	// Value is written as in crawl.toml. Of include and exclude it is one pattern, which is added, or with Remove taken away;
	// of stop-when and window it is all of them, one a line.
	Value  string `json:"value,omitempty"`
	Remove bool   `json:"remove,omitempty"`
	// Host is whom a delay is for, as the match of [[host]]; empty for all hosts.
	Host string `json:"host,omitempty"`
	// Try says what would come of it, and changes nothing.
	Try bool `json:"try,omitempty"`
}

// MostExamples is how many URLs an answer names.
const MostExamples = 20

// Changed is what came of a Change, or would.
type Changed struct {
	Before   string   `json:"before"`
	After    string   `json:"after"`
	Known    bool     `json:"known"`    // URLs and Pending are
	URLs     int64    `json:"urls"`     // that are queued, and concerned: closed by a narrower scope or a list, or those of the host
	Pending  int64    `json:"pending"`  // all that are queued
	Examples []string `json:"examples"` // some of URLs
	Trouble  []string `json:"trouble"`  // why a list is not in force as it is on disk
}

// Change has the crawl change a setting, or say what would come of it.
func (r *Remote) Change(ctx context.Context, order Change) (Changed, error) {
	return call[Changed](ctx, r, "/change", order)
}

// Bad says of an error that the order was wrong, and not the crawl.
func Bad(err error) error {
	if err == nil {
		return nil
	}
	return badOrder{err}
}

type noteKey struct{}

// Noted has a note of the operator go with the orders that are given with the context that it returns.
func Noted(ctx context.Context, note string) context.Context {
	if note == "" {
		return ctx
	}
	return context.WithValue(ctx, noteKey{}, note)
}

// NoteOf is the note that goes with an order; empty for none.
func NoteOf(ctx context.Context) string {
	note, _ := ctx.Value(noteKey{}).(string)
	return note
}

const paramNote = "note"

// noting adds the note of an order to the path that it goes to.
func noting(ctx context.Context, path string) string {
	if note := NoteOf(ctx); note != "" {
		return path + "?" + url.Values{paramNote: {note}}.Encode()
	}
	return path
}

// noted takes the note from a request.
func noted(r *http.Request) context.Context {
	return Noted(r.Context(), r.URL.Query().Get(paramNote))
}
