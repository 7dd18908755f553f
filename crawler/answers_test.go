package crawler

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"

	"curtsy/crawler/crawltest"
)

// pagesBy is a site without a robots.txt, whose other paths are answered by h.
func pagesBy(name string, h http.HandlerFunc) *crawltest.Site {
	return &crawltest.Site{Name: name, Handler: http.HandlerFunc(afterRobots(h))}
}

// afterRobots answers so to everything but robots.txt.
func afterRobots(then http.HandlerFunc) func(http.ResponseWriter, *http.Request) {
	return func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(rw, r)
			return
		}
		then(rw, r)
	}
}

// withStatus answers with a status and no body.
func withStatus(code int, fields ...string) http.HandlerFunc {
	return body(code, "", fields...)
}

// html answers with a page.
func html(text string) http.HandlerFunc { return body(200, text, "Content-Type", "text/html") }

// body answers with a body and header fields, given by name and value.
func body(code int, text string, fields ...string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		for i := 0; i < len(fields); i += 2 {
			rw.Header().Set(fields[i], fields[i+1])
		}
		rw.WriteHeader(code)
		fmt.Fprint(rw, text) // an error means that nobody listens any more
	}
}

// raw answers with octets, and closes the connection.
func raw(octets string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(rw).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		conn.Write([]byte(octets))
	}
}

// silent answers nothing.
func silent(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// zipped is text, coded with gzip.
func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	fmt.Fprint(z, text)
	z.Close()
	return b.String()
}
