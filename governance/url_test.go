package governance_test

import (
	"testing"

	"pnyx/governance"
	"pnyx/test/check"
)

const (
	hexID = "0x538c49304ef485ba4ea09ebce3dfd0548e6e230b5d338b2ba428928e3848f912"
	cidID = "QmWtnCApC6RNgzh5DYbiLr6tkNzhfJ3xqSDUhMC5oCRTzQ"
)

func TestCanonicalURLIsTheSameForOnePage(t *testing.T) {
	t.Parallel()
	for canonical, forms := range map[string][]string{
		"snapshot.org#/uniswap/proposal/" + hexID: {
			"https://snapshot.org/#/uniswap/proposal/" + hexID,
			"http://www.snapshot.org/#/uniswap/proposal/" + hexID + "/",
			"HTTPS://Snapshot.ORG/#/Uniswap/proposal/0x" + "538C49304EF485BA4EA09EBCE3DFD0548E6E230B5D338B2BA428928E3848F912",
			"snapshot.org/#/uniswap/proposal/" + hexID,
			"//snapshot.org#/uniswap/proposal/" + hexID,
			"https://snapshot.page/#/uniswap/proposal/" + hexID,
			"https://snapshot.box/#/s:uniswap/proposal/" + hexID,
			"https://snapshot.box/#/s%3Auniswap/proposal/" + hexID + "/votes",
			"https://snapshot.org/#/uniswap/" + hexID,
			"https://snapshot.org/?utm_source=x#/uniswap/proposal/" + hexID + "?ref=mail",
			"https://snapshot.org:443/#!/uniswap/proposal/" + hexID,
		},
		"snapshot.org#/yam.eth/proposal/" + cidID: {
			"https://snapshot.org/#/yam.eth/proposal/" + cidID,
			"https://snapshot.page/#/yam.eth/" + cidID,
		},
		"tally.xyz/gov/uniswap/proposal/93": {
			"https://www.tally.xyz/gov/uniswap/proposal/93",
			"https://tally.xyz/gov/uniswap/proposal/93?govId=eip155:1:0x408ED6354d4973f66138C91495F2f2FCbd8724C3",
			"tally.xyz/gov/Uniswap/proposal/93/#votes",
			"https://www.withtally.com/governance/uniswap/proposal/93",
		},
		"forum.balancer.fi/t/3056": {
			"https://forum.balancer.fi/t/proposal-whitelist-the-aave-mainnet-reserve-factor-for-balancer-s-voteescrow/3056",
			"https://forum.balancer.fi/t/whatever/3056/12?u=somebody",
			"https://forum.balancer.fi/t/3056",
			"https://forum.balancer.fi/t/3056/12#reply",
			"https://forum.balancer.fi/t/whatever/3056.json?page=2",
		},
		"example.org/a%20b/c?x=1&y=2%2F3": {
			"https://example.org/a%20b/c?x=1&y=2/3",
			"https://www.example.org//a%20b/c/?y=2%2f3&utm_campaign=q&x=1&fbclid=1&gclid=2#part",
			"http://user@EXAMPLE.org:80/a b/c?&x=1&y=2%2F3&REF=4",
		},
		"example.org":                    {"https://example.org", "example.org/", "https://www.example.org./?ref=x#top"},
		"example.org#/route?tab=1":       {"https://example.org/#/route/?tab=1", "https://example.org#!/route?utm_medium=m&tab=1"},
		"docs.google.com/document/d/AbC": {"https://docs.google.com/document/d/AbC#heading=h.1"},
		"ipfs://qm/a":                    {"ipfs://Qm/a", "IPFS://QM/a/"},
		"форум.example.org/a":            {"https://xn--l1adgmc.example.org/a", "https://ФОРУМ.example.org/a/"},
		"":                               {"", " ", "https://", "/"},
	} {
		for _, form := range forms {
			check.Want(t, canonical, governance.CanonicalURL(form), form)
		}
	}
}

func TestCanonicalURLKeepsPagesApart(t *testing.T) {
	t.Parallel()
	forms := []string{
		"https://snapshot.org/#/uniswap/proposal/" + hexID,
		"https://snapshot.org/#/ens.eth/proposal/" + hexID,
		"https://snapshot.org/#/uniswap/proposal/" + cidID,
		"https://testnet.snapshot.org/#/uniswap/proposal/" + hexID,
		"https://snapshot.box/#/s-tn:uniswap/proposal/" + hexID,
		"https://snapshot.org/#/uniswap",
		"https://snapshot.org/#/uniswap/about",
		"https://www.tally.xyz/gov/uniswap/proposal/93",
		"https://www.tally.xyz/gov/uniswap/proposal/9",
		"https://www.tally.xyz/gov/uniswap",
		"https://forum.example.org/t/a/1",
		"https://forum.example.org/t/a/2",
		"https://forum.example.org/t/a",
		"https://example.org/a", "https://example.org/A", "https://example.org/a%2Fb", "https://example.org/a/b",
		"https://example.org/a?page=1", "https://example.org/a?page=2", "https://example.org/#/a", "ftp://example.org/a",
	}
	seen := map[string]string{}
	for _, form := range forms {
		canonical := governance.CanonicalURL(form)
		if other, taken := seen[canonical]; taken {
			t.Errorf("%s and %s: got %q for both", form, other, canonical)
		}
		seen[canonical] = form
	}
}

func FuzzACanonicalURLIsItsOwn(f *testing.F) {
	for _, seed := range []string{
		"https://snapshot.org/#/uniswap/proposal/" + hexID, "snapshot.box/s:a/" + cidID, "a://b://c", "%25", "%%41", "www.www.a:80:443.",
		"tally.xyz/gov/%2F/proposal/?", "x/t/1/2?a=b&a", "a#/b#/c?d", "HTTP://HTTPS://a", "a@b@c/%2e", "?=&a==b", "é.org/é?é",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := governance.CanonicalURL(text)
		check.Want(t, once, governance.CanonicalURL(once), text, "and from that")
	})
}

func TestNormalizeTitleIgnoresCaseCompositionAndSpace(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{
		"  Deploy\tUniswap \n v3 ": "deploy uniswap v3",
		"STRASSE Straße":           "strasse strasse", //nolint:dupword // what folding makes of it
		"Ｆｕｌｌ ｗｉｄｔｈ":               "full width",
		"Cafe\u0301 CAFÉ":          "café café",
		"ΣΊΣΥΦΟΣ Σίσυφος":          "σίσυφοσ σίσυφοσ",
		"民主 №1":                    "民主 no1",
		"100% _under\\":            "100% _under\\",
	} {
		check.Want(t, want, governance.NormalizeTitle(title), title)
	}
}

func TestNormalizeExternalIDLowersHexadecimalOnly(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{"0xAB": "0xab", " 0Xab ": "0xab", "eip155:1:0xAB/93": "eip155:1:0xab/93", cidID: cidID, "uniswap-0.1": "uniswap-0.1"} {
		check.Want(t, want, governance.NormalizeExternalID(id), id)
	}
}
