// Package refusals keeps what a crawl says of URLs that it does not ask for in bounds, and in time: a Limiter counts what
// is refused again and again for one reason, a Recent knows which keys have their line, a Flusher has the lines written
// though nothing else happens. None of them writes: they say what is to be written, and when.
package refusals
