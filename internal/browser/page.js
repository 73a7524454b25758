// Functions that run in a page with an element as this. They return strings that a page
// can change, or an element. name is the function.
function(name, ...args) {
	const clean = s => s.trim().replace(/\s+/g, ' ');
	const box = e => [...e.getClientRects()].find(r => r.width > 0 && r.height > 0);
	const change = e => {
		e.dispatchEvent(new Event('input', {bubbles: true}));
		e.dispatchEvent(new Event('change', {bubbles: true}));
	};
	const page = {
		// cover returns '' if a click on the middle of the element reaches it. Otherwise it
		// returns a reason, or the element that covers it.
		cover() {
			if (this.nodeType !== 1) return this.parentElement ? '' : 'hidden';
			if (this.tagName === 'OPTION') return 'option';
			if (this.disabled) return 'disabled';
			const meets = () => {
				const r = box(this);
				if (!r) return this.matches('input') && this.labels && this.labels.length ? 'label' : 'hidden';
				const at = this.getRootNode().elementFromPoint(r.left + r.width / 2, r.top + r.height / 2);
				if (!at || at === this || this.contains(at) || at.contains(this)) return '';
				const label = at.closest('label');
				if (label && label.control === this) return '';
				for (let up = this; up; up = up.getRootNode().host) if (up === at || at.contains(up)) return '';
				return at;
			};
			const first = meets();
			if (typeof first === 'string') return first;
			this.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
			return meets();
		},

		// fileLink returns 'file' if the element is in a link that downloads a file. Chromium
		// opens such links to other sites like ordinary links.
		fileLink() {
			const link = this.nodeType === 1 && this.closest('a[download][href], area[download][href]');
			return link && (link.origin === location.origin || /^(blob|data):$/.test(link.protocol)) ? 'file' : '';
		},

		click() { this.click(); return ''; },

		// visible returns 'yes' if a person can see the element, at least after scrolling.
		visible() {
			const e = this.nodeType === 1 ? this : this.parentElement;
			return e && box(e) && e.checkVisibility({opacityProperty: true, visibilityProperty: true}) ? 'yes' : 'no';
		},

		// prepareInput focuses an input and selects its content. Inputs without a text cursor,
		// such as dates, are set at once.
		prepareInput(text) {
			const kind = (this.type || '').toLowerCase();
			if (this.disabled) return 'disabled';
			if (this.readOnly) return 'readonly';
			if (this.tagName === 'INPUT') {
				if (['checkbox', 'radio', 'file', 'button', 'submit', 'reset', 'image', 'hidden'].includes(kind)) {
					return 'no ' + kind;
				}
				if (['date', 'time', 'datetime-local', 'month', 'week', 'color', 'range'].includes(kind)) {
					this.focus();
					Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(this, text);
					change(this);
					return this.value === '' && text !== '' ? 'form ' + kind : 'set';
				}
			} else if (this.tagName !== 'TEXTAREA' && !this.isContentEditable) {
				return 'no ' + this.tagName.toLowerCase();
			}
			this.focus();
			if (this.isContentEditable) getSelection().selectAllChildren(this);
			else this.select();
			return 'type';
		},

		// select selects the options of a list with the given values or labels.
		select(values) {
			if (this.tagName !== 'SELECT') return 'no';
			if (this.disabled) return 'disabled';
			const chosen = new Set();
			for (const v of values) {
				const all = [...this.options];
				const o = all.find(o => o.value === v) || all.find(o => clean(o.label) === clean(v)) ||
					all.find(o => clean(o.label).toLowerCase() === clean(v).toLowerCase());
				if (!o || o.disabled) return 'missing ' + v;
				chosen.add(o);
			}
			if (!this.multiple && chosen.size > 1) return 'one';
			this.focus();
			for (const o of this.options) o.selected = chosen.has(o);
			change(this);
			return '';
		},

		// scroll scrolls the closest ancestor of the element that scrolls, or the page. If the
		// page does not scroll, it is what scrolls in the middle of the window. scroll returns
		// what it was and its position in percent.
		scroll(direction) {
			const root = document.scrollingElement;
			const scrolls = e => e.scrollHeight > e.clientHeight + 1 &&
				(e === root || /auto|scroll/.test(getComputedStyle(e).overflowY));
			const around = e => { for (; e && !scrolls(e); e = e.parentElement || e.getRootNode().host); return e; };
			const from = this.nodeType === 1 ? this : this.parentElement;
			const found = around(from) || from === document.documentElement &&
				around(document.elementFromPoint(innerWidth / 2, innerHeight / 2)) || root;
			const most = found ? found.scrollHeight - found.clientHeight : 0;
			if (most <= 1) return 'none 0';
			const step = 0.8 * (found === root ? innerHeight : found.clientHeight);
			const to = {top: 0, bottom: most, up: found.scrollTop - step, down: found.scrollTop + step}[direction];
			if (to !== undefined) found.scrollTo({top: to, behavior: 'instant'});
			const at = found.scrollTop < 1 ? 0 : found.scrollTop > most - 2 ? 100 :
				Math.min(99, Math.max(1, Math.round(100 * found.scrollTop / most)));
			return (found === root ? 'page ' : 'part ') + at;
		},
	};
	return page[name].apply(this, args);
}
