package expr

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// FORMAT: numbers for people, in the manner of a locale. What a locale writes
// was observed on a MySQL, which differs from today's CLDR in many.

func init() {
	register(&function{name: "FORMAT", min: 2, max: 3, class: "string", usage: "FORMAT(x, d[, locale])", doc: "x with d fraction digits and thousands apart, as a locale such as de_DE writes numbers; en_US without one.", resolve: formatNumber})
}

// numberStyle is how a locale writes numbers. A separator of thousands that is
// empty leaves digits together; Indian styles group by two beyond the first three.
type numberStyle struct {
	point, thousands string
	indian           bool
}

// numberStyles are the styles by locale, lower case.
var numberStyles = func() map[string]numberStyle {
	m := map[string]numberStyle{}
	for _, g := range []struct {
		style   numberStyle
		locales string
	}{
		{numberStyle{".", ",", false}, `ar_AE ar_BH ar_DZ ar_EG ar_IN ar_IQ ar_JO ar_KW ar_LB ar_LY ar_MA ar_OM ar_QA ar_SD ar_SY ar_TN ar_YE en_AU en_CA en_GB en_NZ en_PH en_US en_ZA
			en_ZW es_DO es_GT es_HN es_MX es_NI es_PA es_PE es_PR es_SV es_US gu_IN he_IL hi_IN ja_JP ko_KR ms_MY th_TH ur_PK zh_CN zh_HK zh_TW`},
		{numberStyle{".", "", false}, `ar_SA sr_RS sr_YU`},
		{numberStyle{",", ".", false}, `be_BY da_DK de_BE de_DE de_LU es_AR es_BO es_CL es_CO es_EC es_ES es_PY es_UY es_VE fo_FO hu_HU id_ID is_IS lt_LT mn_MN nb_NO no_NO ro_RO ru_UA
			sq_AL tr_TR uk_UA vi_VN`},
		{numberStyle{",", "\x00", false}, `bg_BG`},
		{numberStyle{",", "", false}, `ca_ES de_AT el_GR eu_ES fr_BE fr_CA fr_CH fr_FR fr_LU gl_ES hr_HR it_IT nl_BE nl_NL pl_PL pt_BR pt_PT sl_SI`},
		{numberStyle{",", " ", false}, `cs_CZ es_CR et_EE fi_FI lv_LV mk_MK ru_RU sk_SK sv_FI sv_SE`},
		{numberStyle{".", "'", false}, `de_CH`},
		{numberStyle{",", "'", false}, `it_CH rm_CH`},
		{numberStyle{".", ",", true}, `en_IN ta_IN te_IN`},
	} {
		for _, l := range strings.Fields(g.locales) {
			m[strings.ToLower(l)] = g.style
		}
	}
	return m
}()

// formatNumber is FORMAT.
func formatNumber(ctx *Context, args []Expr) (Expr, error) {
	if err := isNested(args...); err != nil {
		return nil, err
	}
	x := toNumeric(ctx, args[0])
	t := TString(displayLength(x.Type())+40, ctx.collation())
	list := []Expr{x, asSigned(ctx, args[1])}
	if len(args) == 3 {
		list = append(list, asText(ctx, args[2]))
	}
	c := newCall("FORMAT", t, nil, list...)
	c.nulls = true
	c.typ.Nullable = x.Type().Nullable || args[1].Type().Nullable
	c.kern = func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.Str)
		tx := ev.c.args[0].Type()
		d := decs(ev.ctx, tx, ev.args[0])
		ev.rows(func(i int) {
			if ev.args[0].IsNull(i) || ev.args[1].IsNull(i) {
				out.SetNull(i)
				return
			}
			style := numberStyles["en_us"]
			if len(ev.args) > 2 {
				style = localeStyle(ev.ctx, ev.args[2], i)
			}
			n := int(max(0, min(intAt(ev.args[1], i), 30)))
			var text []byte
			if tx.Class == Double {
				text = shortDouble(roundDouble(floatAt(ev.args[0], i), n, false), n)
			} else {
				text = vector.FormatDecimalBig(nil, d(i).rescale(n), n)
			}
			out.SetBytes(i, style.format(text))
		})
		return out, nil
	}
	return c, nil
}

// shortDouble writes x with n fraction digits, zeros behind the fewest digits
// that are x.
func shortDouble(x float64, n int) []byte {
	text := strconv.AppendFloat(nil, x, 'f', -1, 64)
	frac := 0
	if k := bytes.IndexByte(text, '.'); k >= 0 {
		frac = len(text) - k - 1
	}
	switch {
	case frac > n:
		return strconv.AppendFloat(nil, x, 'f', n, 64)
	case frac == 0 && n > 0:
		text = append(text, '.')
	}
	return append(text, strings.Repeat("0", n-frac)...)
}

// localeStyle is the style of a locale named by a row; one that is not known warns.
func localeStyle(ctx *Context, names *vector.Vec, i int) numberStyle {
	name := "NULL"
	if !names.IsNull(i) {
		name = string(names.Bytes(i))
		if s, ok := numberStyles[strings.ToLower(name)]; ok {
			if strings.EqualFold(name, "sr_YU") {
				ctx.warn("Warning", errs.Deprecated, "'sr_YU' is deprecated and will be removed in a future release. Please use sr_RS instead")
			}
			return s
		}
	}
	ctx.warn("Warning", errs.UnknownLocale, "Unknown locale: '%s'", name)
	return numberStyles["en_us"]
}

// format writes a number that has a sign, digits and maybe a point.
func (f numberStyle) format(s []byte) []byte {
	var dst []byte
	if len(s) > 0 && s[0] == '-' {
		dst, s = append(dst, '-'), s[1:]
	}
	whole, frac, has := bytes.Cut(s, []byte{'.'})
	for i, c := range whole {
		left := len(whole) - i
		if i > 0 && (left%3 == 0 && !f.indian || f.indian && (left == 3 || left > 3 && left%2 == 1)) {
			dst = append(dst, f.thousands...)
		}
		dst = append(dst, c)
	}
	if has {
		dst = append(append(dst, f.point...), frac...)
	}
	return dst
}
