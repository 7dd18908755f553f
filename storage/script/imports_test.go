package script

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestImports_AreThoseOfTheGrammar(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{`import "./a.js"`, []string{"./a.js"}},
		{`import{b as c}from"../b.js";a();import d,{e}from'/d.js';import*as f from "https://f.test/f.js"`, []string{"../b.js", "/d.js", "https://f.test/f.js"}},
		{"export * from './g.js'; export * as h from './h.js'\nexport {default, i as j} from './i.js'", []string{"./g.js", "./h.js", "./i.js"}},
		{`import {"./no.js" as x, default as y} from "./k.js" with {type: "json"}`, []string{"./k.js"}},
		{`import from from "./l.js" // import "./no.js"`, []string{"./l.js"}},
		{`import react from "react"; import "lib/x.js"; import "data:text/javascript,0"; import "./\x61.js"`, nil},
		{`import("./a.js"); import.meta.url; x.import "./b.js"; y = {import: "./c.js", from: "./d.js"}; from "./e.js"`, nil},
		{`export default "./a.js"; export const x = {y} , from = "./b.js"; export {z}; "./c.js"`, nil},
		{"x = `import './a.js'`; y = /import '.\\/b.js'/", nil},
	} {
		var got []string
		Imports([]byte(c.text), func(start, end int, name string) {
			quoted := c.text[start:end]
			assert.Truef(t, quoted[1:len(quoted)-1] == name, "%s: %q is at %q", c.text, name, quoted)
			got = append(got, name)
		})
		assert.Truef(t, slices.Equal(got, c.want), "%s: %q, want %q", c.text, got, c.want)
	}
}
