package markup

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSVG_Places(t *testing.T) {
	o := options(t)
	o.ContentType = "image/svg+xml"
	tryPlaces(t, SVG, o, []placeTest{
		{"image, use, feImage, script, a", `<svg><image xlink:href="a" href='b'/><use x:href="c#d"/><feImage href="e"/><script href="f"/><a href="g"><text>x</text></a></svg>`,
			"embed image href b; embed use xlink:href c#d; embed feImage href e; script script href f; link a href g",
			`<svg><image xlink:href="a" href="r1.x"/><use x:href="r2.x"/><feImage href="r3.x"/><script href="r4.x"/><a href="r5.x"><text>x</text></a></svg>`},
		{"prefixes", `<s:svg><s:image l:href="a"/><s:style>a{b:url(c)}</s:style></s:svg>`, "embed image xlink:href a; embed style url c", `<s:svg><s:image l:href="r1.x"/><s:style>a{b:url(r2.x)}</s:style></s:svg>`},
		{"style", `<svg><style>@import "a"; b{c:url(&apos;d&apos;)}</style><style><![CDATA[e{f:url(g)}]]></style><style/><p style="fill:url(h)" fill="url(#i)"/></svg>`,
			"style style import a; embed style url d; embed style url g; embed p style h",
			`<svg><style>@import &#34;r1.x&#34;; b{c:url(&#39;r2.x&#39;)}</style><style><![CDATA[e{f:url(r3.x)}]]></style><style/><p style="fill:url(r4.x)" fill="url(#i)"/></svg>`},
		{"xml-stylesheet", `<?xml version="1.0"?><?xml-stylesheet type="text/css" href='a.css'?><svg/>`, "style xml-stylesheet href a.css", `<?xml version="1.0"?><?xml-stylesheet type="text/css" href="r1.x"?><svg/>`},
		{"comments, CDATA, doctype", `<!DOCTYPE svg [<!ENTITY a "<image href='x'/>"> <!-- ' -->]><!-- <image href="x"/> --><text><![CDATA[<image href="x"/>]]></text><image href="y"/>`, "embed image href y",
			`<!DOCTYPE svg [<!ENTITY a "<image href='x'/>"> <!-- ' -->]><!-- <image href="x"/> --><text><![CDATA[<image href="x"/>]]></text><image href="r1.x"/>`},
		{"a page's elements in it", `<foreignObject><h:img src="a"/><h:link rel="stylesheet" href="b"/><h:a href="c"/></foreignObject>`, "embed img src a; style link href b; link a href c", `<foreignObject><h:img src="r1.x"/><h:link rel="stylesheet" href="r2.x"/><h:a href="r3.x"/></foreignObject>`},
	})
}

func TestManifest_Places(t *testing.T) {
	tryPlaces(t, Manifest, options(t), []placeTest{
		{"icons and the rest", "{\n \"name\": \"x\", \"icons\" : [ {\"src\" : \"a\\u0041\\/b\", \"sizes\":\"1x1\"}, {\"src\":\"c\"}],\"start_url\":\"/d\",\"scope\":\"/\",\"shortcuts\":[{\"url\":\"e\",\"icons\":[{\"src\":\"f\"}]}],\"src\":\"g\"}",
			"embed icons[].src src aA/b; embed icons[].src src c; link start_url start_url /d; service scope scope /; link shortcuts[].url url e; embed shortcuts[].icons[].src src f",
			"{\n \"name\": \"x\", \"icons\" : [ {\"src\" : \"r1.x\", \"sizes\":\"1x1\"}, {\"src\":\"r2.x\"}],\"start_url\":\"r3.x\",\"scope\":\"r4.x\",\"shortcuts\":[{\"url\":\"r5.x\",\"icons\":[{\"src\":\"r6.x\"}]}],\"src\":\"g\"}"},
		{"byte order mark", "\xEF\xBB\xBF{\"start_url\":\"a\"}", "link start_url start_url a", "\xEF\xBB\xBF{\"start_url\":\"r1.x\"}"},
		{"keys that look like values", `{"icons":{"src":"a"},"start_url":["b"],"screenshots":[[{"src":"c"}]]}`, "", `{"icons":{"src":"a"},"start_url":["b"],"screenshots":[[{"src":"c"}]]}`},
	})
}

func TestManifest_Invalid(t *testing.T) {
	for _, in := range []string{`{"start_url":`, `{"a" "b"}`, `]`, "<html>"} {
		assert.Errorf(t, Find(Manifest, []byte(in), options(t), func(Ref) {}), "%s is read", in)
	}
	deep := make([]byte, 1<<20)
	for i := range deep {
		deep[i] = '['
	}
	assert.Error(t, Find(Manifest, deep, options(t), func(Ref) {}), "a million arrays are read")
}
