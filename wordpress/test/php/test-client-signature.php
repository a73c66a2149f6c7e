<?php
/**
 * The companion signs as the gateway checks: both sides read the same vectors.
 */

declare( strict_types=1 );

final class Test_Client_Signature extends Tocsin_Test_Case {

	public function test_signatures_are_those_of_the_contract(): void {
		$file    = dirname( __DIR__, 3 ) . '/packages/contract/fixtures/signatures.json';
		$vectors = json_decode( file_get_contents( $file ), true )['vectors'];
		$this->assertNotEmpty( $vectors );
		foreach ( $vectors as $vector ) {
			$signature = Tocsin_Client::sign( $vector['timestamp'], $vector['body'], $vector['apiKey'] );
			$this->assertSame( $vector['signature'], $signature, $vector['body'] );
		}
	}

	public function test_wordpress_is_real_and_the_companion_runs_in_it(): void {
		$this->assertContains( 'tocsin/tocsin.php', get_option( 'active_plugins' ) );
		$this->assertSame( 1, did_action( 'init' ) );
		$this->assertSame( 1, did_action( 'tocsin_register_templates' ) );
	}
}
