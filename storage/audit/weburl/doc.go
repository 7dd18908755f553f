// Package weburl says where a URL of an archive leads: whom it asks, and for what. Archives hold URLs in many
// spellings, some of which no standard reads, so it also says whether two of them may lead to the same.
package weburl
