// Package journal says what a crawl says as events: lines of JSON on standard error, each with time, level and msg
// (log/slog), for programs that keep logs.
//
// An event is one of a few whose words are always the same and that have their facts as attributes, or a sentence, as
// people read it, whose words may change. A Journal is a writer, too: whatever else a command prints there becomes events,
// a line each, so that nothing on the stream is anything else.
package journal
