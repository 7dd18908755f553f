package main

import (
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"curtsy/crawler/explain"
)

// jsonNames are the names of a type's fields in JSON, those of the types within included.
func jsonNames(of reflect.Type, names map[string]bool) {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice:
		jsonNames(of.Elem(), names)
		return
	case reflect.Struct:
	default:
		return
	}
	if of == reflect.TypeFor[time.Time]() {
		return
	}
	for f := range of.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names[name] = true
		}
		if f.IsExported() {
			jsonNames(f.Type, names)
		}
	}
}

// The page has every field of the JSON and every word of the answer.
func TestExplainDocHasTheFieldsAndTheWords(t *testing.T) {
	t.Parallel()
	b := fileOf(t, filepath.Join("..", "..", "docs", "guides", "report.md"))
	written := map[string]bool{}
	for _, m := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(string(b), -1) {
		written[m[1]] = true
	}
	names := map[string]bool{}
	jsonNames(reflect.TypeFor[explanation](), names)
	for _, word := range explain.Answers() {
		names[word] = true
	}
	if len(names) < 80 {
		t.Fatalf("only %d names", len(names))
	}
	for name := range names {
		if !written[name] {
			t.Errorf("docs/guides/report.md has no `%s`", name)
		}
	}
}
