<?php
/**
 * Rendering of texts with placeholders.
 */

declare( strict_types=1 );

final class Test_Text extends Tocsin_Test_Case {

	const ORDER = array(
		'order' => array(
			'number'   => '17',
			'total'    => '49.00',
			'customer' => array( 'name' => 'Ada' ),
			'items'    => array( '2 × Tea', '1 × Cup' ),
			'paid'     => true,
		),
		'note'  => "two\nlines {order}",
		'zero'  => 0,
	);

	/**
	 * @dataProvider titles
	 */
	public function test_title_is_rendered( string $text, string $expected ): void {
		$this->assertSame( $expected, Tocsin_Text::title( $text, self::ORDER ) );
	}

	public function titles(): array {
		return array(
			'name represents an array'   => array( 'Order {order} by {order.customer}', 'Order 17 by Ada' ),
			'nested fields'              => array( '{order.customer.name}: {order.total}', 'Ada: 49.00' ),
			'lists'                      => array( '{order.items}', '2 × Tea, 1 × Cup' ),
			'boolean and zero'           => array( '{order.paid} {zero}', 'yes 0' ),
			'placeholder of the site'    => array( 'On {site_name}', 'On A test site' ),
			'missing value at the end'   => array( 'Order {order}: {nothing}', 'Order 17' ),
			'missing value in brackets'  => array( 'Order ({nothing}) {order}', 'Order 17' ),
			'missing value before comma' => array( 'Order {nothing}, {order}', 'Order, 17' ),
			'other punctuation is kept'  => array( '— Order {order} —', '— Order 17 —' ),
			'other braces are kept'      => array( 'Set {"a":1} {} { x }', 'Set {"a":1} {} { x }' ),
			'values are not expanded'    => array( '{note}', 'two lines {order}' ),
		);
	}

	public function test_body_omits_lines_without_values(): void {
		$this->assertSame( "Total: 49.00\n\nThank you", Tocsin_Text::body( "By: {missing}\nTotal: {order.total}\r\n\r\n\n\nThank you", self::ORDER ) );
	}

	public function test_texts_are_truncated_to_the_limits_of_the_contract(): void {
		$long = array( 'x' => str_repeat( "\u{1F514}", 3000 ) );
		$this->assertSame( 140, mb_strlen( Tocsin_Text::title( '{x}', $long ) ) );
		$this->assertSame( 2000, mb_strlen( Tocsin_Text::body( '{x}', $long ) ) );
	}
}
